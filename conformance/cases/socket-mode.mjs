export default { client: 'socket-mode', version: '0', play: async () => {} };
