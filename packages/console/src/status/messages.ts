/** UI text of the status of work. */
import { bilingual } from "../text/Language.tsx"

export const statusMessages = bilingual(
  {
    words: {
      needsYou: "Needs you",
      needsOthers: "Needs another member",
      working: "Working",
      background: "In the background",
      paused: "Paused",
      offline: "Device offline",
      waiting: "Waiting",
      failed: "Failed",
      stopped: "Stopped",
      idle: "Done"
    }
  },
  {
    words: {
      needsYou: "等您处理",
      needsOthers: "等其他成员处理",
      working: "进行中",
      background: "后台工作中",
      paused: "已暂停",
      offline: "设备离线",
      waiting: "等待中",
      failed: "失败",
      stopped: "已停止",
      idle: "已完成"
    }
  }
)
