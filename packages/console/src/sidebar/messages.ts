/** UI text of the sidebar. */
import { bilingual } from "../text/Language.tsx"

export const sidebarMessages = bilingual(
  {
    sessions: "Sessions",
    unread: (n: number) => (n === 1 ? "1 unread message" : `${n} unread messages`),
    days: { pinned: "Pinned", today: "Today", yesterday: "Yesterday" },
    views: { all: "All sessions", needsYou: "Needs you", unread: "Unread", archived: "Archived" },
    show: "Show",
    project: "Project",
    allProjects: "All projects",
    empty: {
      all: "No sessions yet. Ask an agent to begin.",
      needsYou: "Nothing needs you.",
      unread: "Nothing unread.",
      archived: "No archived sessions."
    },
    failed: "Can't load the sessions.",
    again: "Try again",
    loading: "Loading sessions…",
    actions: (title: string) => `Options for ${title}`,
    pin: "Pin",
    unpin: "Unpin",
    rename: "Rename…",
    archive: "Archive",
    reopen: "Reopen"
  },
  {
    sessions: "会话",
    unread: (n: number) => `${n} 条未读消息`,
    days: { pinned: "已置顶", today: "今天", yesterday: "昨天" },
    views: { all: "全部会话", needsYou: "等您处理", unread: "未读", archived: "已归档" },
    show: "显示",
    project: "项目",
    allProjects: "全部项目",
    empty: {
      all: "还没有会话，先让智能体做点什么。",
      needsYou: "没有需要您处理的事项。",
      unread: "没有未读消息。",
      archived: "没有已归档的会话。"
    },
    failed: "无法加载会话。",
    again: "重试",
    loading: "正在加载会话…",
    actions: (title: string) => `“${title}”的选项`,
    pin: "置顶",
    unpin: "取消置顶",
    rename: "重命名…",
    archive: "归档",
    reopen: "重新打开"
  }
)
