/** What the page of a run says. */
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import { bilingual } from "../text/Language.tsx"

const count = (n: number) => n.toLocaleString("en")
const seconds = (millis: number) => count(Math.ceil(millis / 1_000))

export const runMessages = bilingual(
  {
    run: "Run",
    runs: "Runs",
    loading: "Loading…",
    timeline: "Timeline",
    diff: "Changes",
    artifacts: "Artifacts",
    raw: "Raw log",
    agent: "Agent",
    target: "Device",
    workspace: "Workspace",
    mode: "Mode",
    model: "Model",
    since: "Since",
    ended: "Ended",
    usage: "Usage",
    tokens: (input: number, output: number) => `${count(input)} in, ${count(output)} out`,
    turns: (n: number) => (n === 1 ? "1 turn" : `${n} turns`),
    worktree: "in a worktree of its own",
    cancel: "Cancel the run",
    cancelTitle: "Cancel this run?",
    cancelText: "The agent is stopped and its programs are ended. What it has done so far stays.",
    connection: {
      connecting: "Connecting…",
      live: "Live",
      waiting: "The connection is lost. Trying again…",
      ended: "",
      refused: "This run cannot be followed."
    },
    retry: "Try now",
    latest: "Jump to the latest",
    empty: "Nothing has happened yet.",
    dropped: (n: number) => `${count(n)} earlier entries are not kept here. The raw log has them.`,
    you: "Message",
    agentSays: "Agent",
    system: "System",
    thinking: "Reasoning",
    writing: "still being written",
    unfinished: "The end of this message never came.",
    earlier: "The beginning of this long text is not shown.",
    rest: "Only the beginning is shown.",
    showWhole: (n: number) => `Show all (${count(n)} characters)`,
    wholeTitle: "The whole text",
    wholeCut: "Still longer: the raw log has the rest.",
    download: "Download all of it",
    hide: "Hide",
    input: "Input",
    inputEdited: "input edited",
    allowedInput: "Input that was allowed",
    requestedInput: "Input that was requested, and did not run",
    output: "Output",
    noOutput: "No output.",
    exit: (code: number) => `exit code ${code}`,
    toolStates: {
      started: "running",
      waiting: "waiting for approval",
      completed: "done",
      failed: "failed",
      denied: "denied",
      cancelled: "cancelled"
    },
    fileChanges: {
      read: "read",
      created: "created",
      modified: "changed",
      deleted: "deleted",
      renamed: "renamed"
    },
    proposes: "Proposed change to",
    diffReady: (files: number) => (files === 1 ? "1 file is changed" : `${files} files are changed`),
    seeDiff: "See the changes",
    artifact: "Artifact",
    preview: "Preview",
    openPreview: "Open preview",
    previewWhere: (device: string) =>
      `It opens on ${device === "" ? "the device" : device} itself, in a browser that runs there.`,
    previewMembers: "Members of the project may open it.",
    previewBlocked: "No new tab?",
    previewLink: "Open it here, once, within a minute.",
    previewClosed: "The preview is closed.",
    previewOffline: (device: string) =>
      `${device === "" ? "The device" : device} is not connected. The preview opens while its Edge runs.`,
    previewNoAddress: "The device gave no address of its own.",
    approval: "Approval",
    toApproval: "See the approval",
    warning: "Warning",
    retrying: ({ attempt, delayMs, maxAttempts, reason, silentMs }: PayloadOf<"runtime.retrying">) => {
      if (silentMs !== undefined) return `No output for ${seconds(silentMs)} s.`
      const of = maxAttempts === undefined ? "" : ` of ${maxAttempts}`
      const which = attempt === undefined ? "" : ` (attempt ${attempt}${of})`
      const when = delayMs === undefined ? "" : ` in ${seconds(delayMs)} s`
      return `Model call failed: ${reason}. Retrying${when}${which}.`
    },
    started: "The agent has started",
    projectSettings: { ignored: "Project settings ignored:", enabled: "Project settings enabled:" },
    endings: {
      completed: "The run is completed.",
      failed: "The run has failed.",
      cancelled: "The run was cancelled."
    },
    gap: (from: number, to: number) =>
      from === to
        ? `Event ${from} is missing: the Hub does not keep it any more.`
        : `Events ${from} to ${to} are missing: the Hub does not keep them any more.`,
    say: "Message to the agent",
    sayHint: "Ctrl+Enter sends it.",
    send: "Send",
    sent: "Sent.",
    noArtifacts: "The run has made none so far.",
    bytes: (n: number) => `${count(n)} bytes`,
    rawHint: "Every event as the Hub keeps it, also those that this console does not know.",
    unknown: (n: number) => (n === 1 ? "1 event is not known here" : `${count(n)} events are not known here`),
    more: "Show more",
    noEvents: "No events.",
    announced: { waiting_approval: "The run waits for a decision.", running: "The run goes on." }
  },
  {
    run: "运行",
    runs: "运行",
    loading: "加载中…",
    timeline: "时间线",
    diff: "更改",
    artifacts: "产物",
    raw: "原始日志",
    agent: "智能体",
    target: "设备",
    workspace: "工作区",
    mode: "模式",
    model: "模型",
    since: "开始于",
    ended: "结束于",
    usage: "用量",
    tokens: (input: number, output: number) => `输入 ${count(input)},输出 ${count(output)}`,
    turns: (n: number) => `${n} 轮`,
    worktree: "使用独立工作树",
    cancel: "取消运行",
    cancelTitle: "取消这次运行?",
    cancelText: "智能体将停止,其程序将结束。已完成的内容会保留。",
    connection: {
      connecting: "连接中…",
      live: "实时",
      waiting: "连接已断开,正在重试…",
      ended: "",
      refused: "无法关注此运行。"
    },
    retry: "立即重试",
    latest: "跳到最新",
    empty: "还没有任何动静。",
    dropped: (n: number) => `此处不再保留较早的 ${count(n)} 项,可在原始日志中查看。`,
    you: "消息",
    agentSays: "智能体",
    system: "系统",
    thinking: "思考过程",
    writing: "仍在书写",
    unfinished: "这条消息没有结束。",
    earlier: "未显示这段长文本的开头。",
    rest: "只显示了开头。",
    showWhole: (n: number) => `显示全部(${count(n)} 个字符)`,
    wholeTitle: "全文",
    wholeCut: "还有更多,其余见原始日志。",
    download: "下载全部",
    hide: "收起",
    input: "输入",
    inputEdited: "输入已修改",
    allowedInput: "实际允许的输入",
    requestedInput: "请求的输入(未执行)",
    output: "输出",
    noOutput: "没有输出。",
    exit: (code: number) => `退出码 ${code}`,
    toolStates: {
      started: "执行中",
      waiting: "等待审批",
      completed: "完成",
      failed: "失败",
      denied: "被拒绝",
      cancelled: "已取消"
    },
    fileChanges: {
      read: "已读取",
      created: "已创建",
      modified: "已修改",
      deleted: "已删除",
      renamed: "已重命名"
    },
    proposes: "建议更改",
    diffReady: (files: number) => `${files} 个文件有更改`,
    seeDiff: "查看更改",
    artifact: "产物",
    preview: "预览",
    openPreview: "打开预览",
    previewWhere: (device: string) =>
      `预览只在${device === "" ? "该设备" : ` ${device} `}上打开,需使用那里的浏览器。`,
    previewMembers: "项目成员可以打开。",
    previewBlocked: "没有出现新标签页?",
    previewLink: "在此打开(一分钟内,仅一次)。",
    previewClosed: "预览已关闭。",
    previewOffline: (device: string) =>
      `${device === "" ? "该设备" : ` ${device} `}未连接。其 Edge 运行时才能打开预览。`,
    previewNoAddress: "设备没有给出自己的地址。",
    approval: "审批",
    toApproval: "查看审批",
    warning: "警告",
    retrying: ({ attempt, delayMs, maxAttempts, reason, silentMs }: PayloadOf<"runtime.retrying">) => {
      if (silentMs !== undefined) return `已有 ${seconds(silentMs)} 秒没有输出。`
      const of = maxAttempts === undefined ? "" : `，共 ${maxAttempts} 次`
      const which = attempt === undefined ? "" : `（第 ${attempt} 次${of}）`
      const when = delayMs === undefined ? "正在重试" : `${seconds(delayMs)} 秒后重试`
      return `模型调用失败：${reason}。${when}${which}。`
    },
    started: "智能体已启动",
    projectSettings: { ignored: "已忽略项目设置：", enabled: "已启用项目设置：" },
    endings: { completed: "运行已完成。", failed: "运行失败。", cancelled: "运行已取消。" },
    gap: (from: number, to: number) => `缺少事件 ${from} 至 ${to}:Hub 已不再保留。`,
    say: "给智能体的消息",
    sayHint: "Ctrl+Enter 发送。",
    send: "发送",
    sent: "已发送。",
    noArtifacts: "此运行尚无产物。",
    bytes: (n: number) => `${count(n)} 字节`,
    rawHint: "Hub 保存的全部事件,包括此控制台不认识的事件。",
    unknown: (n: number) => `${count(n)} 个事件此处不认识`,
    more: "显示更多",
    noEvents: "没有事件。",
    announced: { waiting_approval: "运行正在等待决定。", running: "运行继续。" }
  }
)
