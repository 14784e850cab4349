export default { client: 'types', version: '0', play: async () => {} };
