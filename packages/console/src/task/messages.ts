/** UI text of a task that has no run yet. */
import { bilingual } from "../text/Language.tsx"

export const taskMessages = bilingual(
  {
    title: "Task",
    waits: "The task is being dispatched. This page shows the run when it starts.",
    queued: "The device is offline. The run starts when the device is online.",
    device: "Device",
    workspace: "Workspace",
    agent: "Agent",
    mode: "Mode",
    text: "Prompt",
    until: "Expires",
    cancel: "Cancel task",
    cancelTitle: "Cancel this task?",
    cancelText: "The run will not start.",
    over: "The task ended without a run."
  },
  {
    title: "任务",
    waits: "正在派发任务。运行启动后，此页面将显示该运行。",
    queued: "设备离线。设备上线后将启动运行。",
    device: "设备",
    workspace: "工作区",
    agent: "智能体",
    mode: "模式",
    text: "提示词",
    until: "过期时间",
    cancel: "取消任务",
    cancelTitle: "要取消此任务吗？",
    cancelText: "运行将不会启动。",
    over: "任务已结束，没有启动运行。"
  }
)
