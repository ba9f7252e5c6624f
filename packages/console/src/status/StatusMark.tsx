/** Status of work as a shape and a word, in both languages. The colour repeats them. */
import { bilingual, useMessages } from "../text/Language.tsx"
import type { WorkStatus } from "./SessionStatus.ts"
import "./status.css"

/** UI text of the status of work. */
const statusMessages = bilingual(
  {
    words: {
      needsYou: "Needs you",
      needsOthers: "Needs another member",
      working: "Working",
      background: "In the background",
      paused: "Paused",
      offline: "Device offline",
      waiting: "Waiting",
      changes: "Changes to decide",
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
      changes: "有更改待决定",
      failed: "失败",
      stopped: "已停止",
      idle: "已完成"
    }
  }
)

const shapes: { readonly [S in WorkStatus]: string } = {
  needsYou: "◆",
  needsOthers: "◇",
  working: "●",
  background: "◐",
  paused: "▮▮",
  offline: "⊘",
  waiting: "○",
  changes: "±",
  failed: "✕",
  stopped: "■",
  idle: "✓"
}

interface StatusMarkProps {
  readonly status: WorkStatus
  /** Whether only the shape is visible. Screen readers read the word. */
  readonly compact?: boolean
}

export const StatusMark = ({ compact = false, status }: StatusMarkProps) => {
  const messages = useMessages(statusMessages)
  return (
    <span className={`status status-${status}`}>
      <span className="status-shape" aria-hidden="true">
        {shapes[status]}
      </span>
      <span className={compact ? "hidden" : "status-word"}>{messages.words[status]}</span>
    </span>
  )
}
