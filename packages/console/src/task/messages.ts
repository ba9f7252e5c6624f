/** Words of a task that is no run yet. */
import { bilingual } from "../text/Language.tsx"

export const taskMessages = bilingual(
  {
    title: "Task",
    waits: "It is on its way. This page becomes the run's once there is one.",
    queued: "Its device is offline. It starts as soon as the device is back.",
    device: "Device",
    workspace: "Workspace",
    agent: "Agent",
    mode: "Mode",
    text: "Asked for",
    until: "Waits until",
    cancel: "Cancel the task",
    cancelTitle: "Cancel this task?",
    cancelText: "It will not start.",
    over: "It ended without a run."
  },
  {
    title: "任务",
    waits: "任务正在派发。一旦有了运行,本页将转到该运行。",
    queued: "设备离线。设备上线后将立即启动。",
    device: "设备",
    workspace: "工作区",
    agent: "智能体",
    mode: "模式",
    text: "请求内容",
    until: "等待至",
    cancel: "取消任务",
    cancelTitle: "取消此任务?",
    cancelText: "它将不会启动。",
    over: "任务已结束,没有产生运行。"
  }
)
