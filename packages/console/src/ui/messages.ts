/** UI text of shared components, with advice for each error code. */
import type { CorralError } from "@corral/client/http/CorralError"
import type { PauseRefusalReason } from "@corral/domain/run/RunRefusals"
import type { RuntimeRemedy } from "@corral/domain/run/RuntimeRemedy"
import { bilingual } from "../text/Language.tsx"

type Advice = Partial<Record<CorralError["code"], string>>

const advice = bilingual<Advice>(
  {
    unreachable: "Check your network and that the Hub is running, then try again.",
    unauthorized: "Sign in again.",
    permission_denied: "It may not exist, or your role doesn't allow this. Ask a project admin.",
    unauthorized_target: "Ask the device's owner to share it with this project.",
    budget_exceeded: "The Usage page shows the limits. Try again tomorrow, or ask a project admin.",
    target_offline: "Start the Edge on that device, or queue the task until the device is online.",
    workspace_outside_allowlist: "Choose a workspace of the device.",
    runtime_unavailable: "Try again. If it fails again, check the agent on the Devices page.",
    conflict: "Reload the page to see the current state.",
    rate_limited: "Wait a few seconds, then try again.",
    overloaded: "Wait a few seconds, then try again.",
    internal: "Try again. If the problem persists, send the request ID to your administrator.",
    schema_validation_failed: "Correct the fields and try again."
  },
  {
    unreachable: "请检查网络以及 Hub 是否正在运行，然后重试。",
    unauthorized: "请重新登录。",
    permission_denied: "它可能不存在，或您的角色不允许此操作。请联系项目管理员。",
    unauthorized_target: "请让设备所有者将设备共享给此项目。",
    budget_exceeded: "“用量”页面列出了限额。请明天再试，或联系项目管理员。",
    target_offline: "请在该设备上启动 Edge，或将任务排队等待设备上线。",
    workspace_outside_allowlist: "请选择该设备上的工作区。",
    runtime_unavailable: "请重试。如果仍然失败，请在“设备”页面检查该智能体。",
    conflict: "请重新加载页面以查看最新状态。",
    rate_limited: "请稍候几秒再试。",
    overloaded: "请稍候几秒再试。",
    internal: "请重试。如果问题仍然存在，请将请求 ID 发给管理员。",
    schema_validation_failed: "请更正相应字段后重试。"
  }
)

/** What a user can do about an unavailable runtime: for refused requests and failed turns. */
const remedies = bilingual<Readonly<Record<RuntimeRemedy, string>>>(
  {
    install: "Install the agent's program on the device, then try again.",
    sign_in: "Sign in to the agent's program on the device, then try again.",
    continue: "The device restarted during the turn. Try again to continue."
  },
  {
    install: "请在该设备上安装智能体程序，然后重试。",
    sign_in: "请在该设备上登录智能体程序，然后重试。",
    continue: "设备在此轮期间重启了。请重试以继续。"
  }
)

/** What a user can do about a run that can't be paused. */
const pauseAdvice = bilingual<Partial<Record<PauseRefusalReason, string>>>(
  {
    no_control_group: "Stop it instead. Pausing needs Linux with control groups on the device.",
    not_started: "Try again when it is running.",
    ending: "Wait for its end.",
    freeze_failed: "Try again, or stop it.",
    edge_outdated: "Update Corral on the device."
  },
  {
    no_control_group: "请改用停止。暂停功能需要设备运行 Linux 并启用控制组（cgroup v2）。",
    not_started: "请在开始运行后重试。",
    ending: "请等待其结束。",
    freeze_failed: "请重试，或停止运行。",
    edge_outdated: "请在该设备上更新 Corral。"
  }
)

export const uiMessages = bilingual(
  {
    advice: advice.en,
    remedies: remedies.en,
    pauseAdvice: pauseAdvice.en,
    again: "Try again",
    signInAgain: "Sign in again",
    requestId: "Request ID",
    copy: "Copy",
    dismiss: "Dismiss",
    unsentText: "This was not sent:",
    copied: "Copied",
    copyId: "Copy ID",
    actionsOf: (name: string) => `Actions for ${name}`,
    more: "Show more",
    loading: "Loading…",
    cancel: "Cancel",
    close: "Close",
    states: {
      queued: "queued",
      created: "created",
      starting: "starting",
      running: "running",
      waiting_approval: "needs approval",
      waiting_input: "has a question",
      completed: "completed",
      failed: "failed",
      cancelled: "cancelled",
      pending: "pending",
      dispatched: "dispatched",
      expired: "expired",
      approved: "approved",
      denied: "denied",
      online: "online",
      offline: "offline",
      revoked: "revoked",
      active: "active",
      archived: "archived",
      closed: "closed",
      allowed: "allowed"
    },
    modes: {
      read_only: "Read only",
      plan: "Plan",
      ask: "Ask before each action",
      auto_edit: "Edit files, ask for other actions",
      full_access: "Full access"
    },
    modeHints: {
      read_only: "Reads files and answers. Changes nothing.",
      plan: "Reads files and makes a plan. Work begins when you approve it.",
      ask: "You decide on each change, command and connection.",
      auto_edit: "Writes files of the workspace. You decide on commands and connections.",
      full_access: "Decides on everything itself, with all rights of your account on the device."
    }
  },
  {
    advice: advice.zh,
    remedies: remedies.zh,
    pauseAdvice: pauseAdvice.zh,
    again: "重试",
    signInAgain: "重新登录",
    requestId: "请求 ID",
    copy: "复制",
    dismiss: "关闭",
    unsentText: "以下内容未发送：",
    copied: "已复制",
    copyId: "复制 ID",
    actionsOf: (name: string) => `${name} 的操作`,
    more: "显示更多",
    loading: "加载中…",
    cancel: "取消",
    close: "关闭",
    states: {
      queued: "排队中",
      created: "已创建",
      starting: "启动中",
      running: "运行中",
      waiting_approval: "需要审批",
      waiting_input: "有问题要回答",
      completed: "已完成",
      failed: "失败",
      cancelled: "已取消",
      pending: "待处理",
      dispatched: "已派发",
      expired: "已过期",
      approved: "已批准",
      denied: "已拒绝",
      online: "在线",
      offline: "离线",
      revoked: "已吊销",
      active: "进行中",
      archived: "已归档",
      closed: "已关闭",
      allowed: "已允许"
    },
    modes: {
      read_only: "只读",
      plan: "计划",
      ask: "每次操作前询问",
      auto_edit: "可编辑文件，其他操作先询问",
      full_access: "完全访问"
    },
    modeHints: {
      read_only: "只读取文件并回答，不做任何更改。",
      plan: "先读取文件并制定计划，您批准后才开始执行。",
      ask: "每次更改文件、运行命令或联网都由您决定。",
      auto_edit: "可直接修改工作区内的文件；运行命令和联网由您决定。",
      full_access: "一切自行决定，拥有您在该设备上的全部权限。"
    }
  }
)
