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
    closed: "Closed",
    closedHint: "Another agent of its group was continued. It receives no messages.",
    defaultHint: "Messages that name no agent go to the default one.",
    makeDefault: "Make default",
    show: "Show turn",
    states: { held: "Held", gone: "Gone", idle: "Idle" },
    counted: (n: number) => (n === 1 ? "1 message waits." : `${n} messages wait.`),
    noTurns: "No turns yet.",
    lastTurn: (state: string) => `Last turn: ${state}`,
    absent: {
      device: () => "Its device is no longer shared with this project. Add another agent to continue here.",
      workspace: (device: string, workspace: string) =>
        `${device} no longer offers ${workspace}. Add another agent to continue here.`,
      program: (device: string) =>
        `${device} no longer offers this agent. Add another agent to continue here.`
    },
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
    closed: "已关闭",
    closedHint: "同组的另一个智能体已被选用，此智能体不再接收消息。",
    defaultHint: "没有指定智能体的消息会发给默认智能体。",
    makeDefault: "设为默认",
    show: "查看本轮",
    states: { held: "已暂缓", gone: "已失效", idle: "空闲" },
    counted: (n: number) => `${n} 条消息等待中。`,
    noTurns: "还没有轮次。",
    lastTurn: (state: string) => `上一轮${state}，`,
    absent: {
      device: () => "其设备已不再与此项目共享。如需在此继续，请添加其他智能体。",
      workspace: (device: string, workspace: string) =>
        `${device} 不再提供 ${workspace}。如需在此继续，请添加其他智能体。`,
      program: (device: string) => `${device} 不再提供此智能体。如需在此继续，请添加其他智能体。`
    },
    rename: "重命名会话",
    name: "标题",
    save: "保存"
  }
)
