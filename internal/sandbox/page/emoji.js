// Slack's short codes of the emoji that cards and people use most; others are shown as typed.

const EMOJI = {
  "+1": "👍", "-1": "👎", thumbsup: "👍", thumbsdown: "👎", wave: "👋", eyes: "👀", raised_hands: "🙌", pray: "🙏", ok_hand: "👌",
  warning: "⚠️", rotating_light: "🚨", fire: "🔥", boom: "💥", zap: "⚡", bell: "🔔", no_bell: "🔕", sos: "🆘",
  no_entry: "⛔", no_entry_sign: "🚫", octagonal_sign: "🛑", stop_sign: "🛑", x: "❌", white_check_mark: "✅", heavy_check_mark: "✔️",
  question: "❓", exclamation: "❗", information_source: "ℹ️", bulb: "💡", lock: "🔒", unlock: "🔓", key: "🔑", shield: "🛡️",
  red_circle: "🔴", large_orange_circle: "🟠", large_yellow_circle: "🟡", large_green_circle: "🟢", large_blue_circle: "🔵",
  white_circle: "⚪", black_circle: "⚫", hourglass: "⌛", hourglass_flowing_sand: "⏳", stopwatch: "⏱️", alarm_clock: "⏰", clock3: "🕒",
  mag: "🔍", chart_with_upwards_trend: "📈", chart_with_downwards_trend: "📉", bar_chart: "📊", memo: "📝", book: "📖", bookmark: "🔖",
  arrow_up: "⬆️", arrow_down: "⬇️", arrow_right: "➡️", leftwards_arrow_with_hook: "↩️", repeat: "🔁", link: "🔗", pushpin: "📌",
  bug: "🐛", hammer: "🔨", wrench: "🔧", gear: "⚙️", robot_face: "🤖", spider_web: "🕸️", globe_with_meridians: "🌐", tada: "🎉",
  smile: "😄", slightly_smiling_face: "🙂", thinking_face: "🤔", scream: "😱", cry: "😢", sleeping: "😴", zzz: "💤", tornado: "🌪️", ocean: "🌊",
};

export const emoji = (code) => EMOJI[code] ?? `:${code}:`;
