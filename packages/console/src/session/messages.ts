/** UI text of sessions. */
import { bilingual } from "../text/Language.tsx"

export const sessionMessages = bilingual(
  {
    title: "Session",
    project: "Project",
    agents: "Agents",
    noAgents: "No agents yet.",
    addAgent: "Add agent",
    removeAgent: "Remove",
    removeTitle: (name: string) => `Remove ${name}?`,
    removeText: "You can no longer start runs with this agent in this session. Its runs are kept.",
    isDefault: "Default",
    defaultHint: "Messages that name no agent go to the default one.",
    makeDefault: "Make default",
    rename: "Rename session",
    name: "Title",
    save: "Save"
  },
  {
    title: "会话",
    project: "项目",
    agents: "智能体",
    noAgents: "还没有智能体。",
    addAgent: "添加智能体",
    removeAgent: "移除",
    removeTitle: (name: string) => `要移除 ${name} 吗？`,
    removeText: "将无法再在此会话中用它启动运行，已有的运行会保留。",
    isDefault: "默认",
    defaultHint: "没有指定智能体的消息会发给默认智能体。",
    makeDefault: "设为默认",
    rename: "重命名会话",
    name: "标题",
    save: "保存"
  }
)
