/** UI text of preferences. */
import { bilingual } from "../text/Language.tsx"

export const preferenceMessages = bilingual(
  {
    quietHours: "Quiet hours",
    quietHoursHint:
      "In this time, browsers and chats send you no notifications. Cards in chats still change.",
    from: "From",
    to: "To",
    timeZone: "Time zone"
  },
  {
    quietHours: "免打扰时段",
    quietHoursHint: "在此时段内，浏览器和聊天不会向您发送通知，聊天中的卡片仍会更新。",
    from: "开始",
    to: "结束",
    timeZone: "时区"
  }
)
