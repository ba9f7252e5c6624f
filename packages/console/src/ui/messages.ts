/** Words of the building blocks, and what to do about each refusal. */
import type { ErrorCode } from "@corral/domain/errors/ErrorTable"
import { bilingual } from "../text/Language.tsx"

type Advice = Partial<Record<ErrorCode | "unreachable", string>>

const advice = bilingual<Advice>(
  {
    unreachable: "Look whether the Hub runs and your network reaches it, then try again.",
    unauthorized: "Sign in again.",
    permission_denied: "It may not exist, or your role does not allow it. Ask an admin of the project.",
    unauthorized_target: "Ask the device's owner to share it with this project.",
    target_offline: "Start the Edge on that device, or queue the task until it is back.",
    workspace_outside_allowlist: "Choose a workspace that the device offers.",
    runtime_unavailable: "Install the agent's program on that device and sign it in there.",
    conflict: "Load the page again to see how it is now.",
    rate_limited: "Wait a few seconds.",
    overloaded: "Wait a few seconds.",
    internal: "Try again. If it stays so, tell your administrator the request id.",
    schema_validation_failed: "Correct the fields and send it again."
  },
  {
    unreachable: "请确认 Hub 正在运行且网络可达,然后重试。",
    unauthorized: "请重新登录。",
    permission_denied: "它可能不存在,或您的角色不允许此操作。请联系项目管理员。",
    unauthorized_target: "请设备所有者将其共享给此项目。",
    target_offline: "请在该设备上启动 Edge,或将任务排队等待其上线。",
    workspace_outside_allowlist: "请选择设备提供的工作区。",
    runtime_unavailable: "请在该设备上安装智能体程序并登录。",
    conflict: "请重新加载页面查看最新状态。",
    rate_limited: "请稍等几秒。",
    overloaded: "请稍等几秒。",
    internal: "请重试。若问题依旧,请将请求编号告知管理员。",
    schema_validation_failed: "请更正后重新提交。"
  }
)

export const uiMessages = bilingual(
  {
    advice: advice.en,
    again: "Try again",
    signInAgain: "Sign in again",
    requestId: "Request",
    copy: "Copy",
    copied: "Copied",
    more: "Show more",
    loading: "Loading…",
    cancel: "Cancel",
    close: "Close",
    states: {
      queued: "queued",
      created: "created",
      starting: "starting",
      running: "running",
      waiting_approval: "waits for approval",
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
      ask: "Ask before acting",
      auto_edit: "Edit files, ask for the rest",
      full_access: "Full access"
    }
  },
  {
    advice: advice.zh,
    again: "重试",
    signInAgain: "重新登录",
    requestId: "请求",
    copy: "复制",
    copied: "已复制",
    more: "显示更多",
    loading: "加载中…",
    cancel: "取消",
    close: "关闭",
    states: {
      queued: "排队中",
      created: "已创建",
      starting: "启动中",
      running: "运行中",
      waiting_approval: "等待审批",
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
      active: "活跃",
      archived: "已归档",
      closed: "已关闭",
      allowed: "允许"
    },
    modes: {
      read_only: "只读",
      plan: "规划",
      ask: "操作前询问",
      auto_edit: "可改文件,其余询问",
      full_access: "完全访问"
    }
  }
)
