/** UI text of the run page, of changes that are unknown, and of files that were not compared. */
import type { UnknownChangesReason } from "@corral/domain/changes/UnknownChanges"
import type { ConfinementKind } from "@corral/domain/run/Confinement"
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import { bilingual } from "../text/Language.tsx"

const count = (n: number) => n.toLocaleString("en")
const seconds = (millis: number) => count(Math.ceil(millis / 1_000))

export const runMessages = bilingual(
  {
    run: "Run",
    toSession: "View session",
    runs: "Runs",
    diff: "Changes",
    worktree: "in a separate worktree",
    layer: "in a layer",
    confinement: (kind: ConfinementKind) => {
      if (kind === "none") return "not confined"
      return kind === "landlock" ? "files confined by landlock, the network is open" : `confined by ${kind}`
    },
    notConfined: (reason: string) => `not confined: ${reason}`,
    endsWithEdge:
      "This run ends if its Edge stops: the process that would let it continue could not be reached.",
    connection: {
      connecting: "Connecting…",
      live: "Live",
      waiting: "Connection lost. Reconnecting…",
      ended: "",
      refused: "Can't follow this run."
    },
    retry: "Retry now",
    dropped: (n: number) => `${count(n)} earlier entries are not shown here. See the raw log.`,
    you: "Message",
    system: "System",
    thinking: "Reasoning",
    unfinished: "This message is incomplete.",
    earlier: "The start of this long text is not shown.",
    rest: "Only the start is shown.",
    leftOut: (bytes: number) => `${bytes.toLocaleString("en")} bytes are left out here.`,
    showWhole: (n: number) => `Show all (${count(n)} characters)`,
    wholeTitle: "Full text",
    wholeCut: "The rest is in the raw log.",
    download: "Download all",
    hide: "Hide",
    input: "Input",
    inputEdited: "input edited",
    allowedInput: "Allowed input",
    requestedInput: "Requested input (not executed)",
    output: "Output",
    noOutput: "No output.",
    exit: (code: number) => `exit code ${code}`,
    kernelRefusals: {
      write:
        "Hint: the confinement of this run may not allow this write. It protects .git/config, .git/hooks and folders such as .vscode.",
      access: "Hint: the confinement of this run may not allow this."
    },
    fileChanges: {
      read: "read",
      created: "created",
      modified: "modified",
      deleted: "deleted",
      renamed: "renamed"
    },
    artifact: "Artifact",
    approval: "Approval",
    toApproval: "View approval",
    warning: "Warning",
    protectedChanged: "Changed without an approval that names it:",
    discarded: ", discarded",
    separator: ", ",
    moreChanges: (n: number) => ` and ${count(n)} more`,
    reviewProtected: ". Other programs run or obey such files. Review them.",
    protectedUnread: "Some protected names were not compared: the workspace has too many files.",
    repositoryChanged: "The repository changed without an approved git command:",
    repositoryIndex: "the index",
    repositoryUnread: "Some names in the repository were not compared: it has too many files.",
    reviewRepository: ". Review it before you commit or push.",
    retrying: ({ attempt, delayMs, maxAttempts, reason, silentMs }: PayloadOf<"runtime.retrying">) => {
      if (silentMs !== undefined) return `No output for ${seconds(silentMs)} s.`
      const of = maxAttempts === undefined ? "" : ` of ${maxAttempts}`
      const which = attempt === undefined ? "" : ` (attempt ${attempt}${of})`
      const when = delayMs === undefined ? "" : ` in ${seconds(delayMs)} s`
      return `Model call failed: ${reason}. Retrying${when}${which}.`
    },
    pauses: { paused: "Paused.", resumed: "Resumed." },
    notices: {
      compacted: "Conversation compacted.",
      model_changed: "Model changed.",
      rate_limited: "Rate limited.",
      warning: "Warning",
      refused: "Refused.",
      other: ""
    },
    continued: "The agent continued by itself.",
    finished: "Finished. Stopped in the background:",
    projectSettings: { ignored: "Project settings ignored:", enabled: "Project settings enabled:" },
    gap: (from: number, to: number) =>
      from === to
        ? `Event ${from} is missing. The Hub no longer stores it.`
        : `Events ${from} to ${to} are missing. The Hub no longer stores them.`,
    say: "Message to the agent",
    sayHint: "Press Ctrl+Enter to send.",
    send: "Send",
    bytes: (n: number) => `${count(n)} bytes`,
    unknown: (n: number) => (n === 1 ? "1 unrecognized event" : `${count(n)} unrecognized events`)
  },
  {
    run: "运行",
    toSession: "查看会话",
    runs: "运行",
    diff: "更改",
    worktree: "在独立的工作树中",
    layer: "在叠加层中",
    confinement: (kind: ConfinementKind) => {
      if (kind === "none") return "未受系统限制"
      return kind === "landlock" ? "文件由 landlock 限制，网络未限制" : `由 ${kind} 限制`
    },
    notConfined: (reason: string) => `未受系统限制：${reason}`,
    endsWithEdge: "如果 Edge 停止，此任务也会结束：无法连接让它继续运行的进程。",
    connection: {
      connecting: "连接中…",
      live: "实时",
      waiting: "连接已断开，正在重新连接…",
      ended: "",
      refused: "无法查看此运行的实时进展。"
    },
    retry: "立即重试",
    dropped: (n: number) => `较早的 ${count(n)} 项未在此显示，请查看原始日志。`,
    you: "消息",
    system: "系统",
    thinking: "思考过程",
    unfinished: "这条消息不完整。",
    earlier: "未显示这段长文本的开头。",
    rest: "仅显示开头部分。",
    leftOut: (bytes: number) => `此处省略 ${bytes.toLocaleString("zh-CN")} 字节。`,
    showWhole: (n: number) => `显示全部（${count(n)} 个字符）`,
    wholeTitle: "全文",
    wholeCut: "其余内容请查看原始日志。",
    download: "下载全部",
    hide: "收起",
    input: "输入",
    inputEdited: "输入已编辑",
    allowedInput: "允许的输入",
    requestedInput: "请求的输入（未执行）",
    output: "输出",
    noOutput: "没有输出。",
    exit: (code: number) => `退出码 ${code}`,
    kernelRefusals: {
      write:
        "提示：此运行的系统限制可能不允许这次写入。.git/config、.git/hooks 以及 .vscode 等文件夹受保护。",
      access: "提示：此运行的系统限制可能不允许此操作。"
    },
    fileChanges: {
      read: "已读取",
      created: "已创建",
      modified: "已修改",
      deleted: "已删除",
      renamed: "已重命名"
    },
    artifact: "产物",
    approval: "审批",
    toApproval: "查看审批",
    warning: "警告",
    protectedChanged: "未经指明该文件的审批而更改：",
    discarded: "，未保留",
    separator: "、",
    moreChanges: (n: number) => `，以及另外 ${count(n)} 项`,
    reviewProtected: "。其他程序会运行或遵循这类文件，请检查。",
    protectedUnread: "工作区文件过多，部分受保护的名称未能比较。",
    repositoryChanged: "仓库在没有经批准的 git 命令的情况下被更改：",
    repositoryIndex: "暂存区",
    repositoryUnread: "仓库中的文件过多，部分名称未能比较。",
    reviewRepository: "。请在提交或推送之前检查。",
    retrying: ({ attempt, delayMs, maxAttempts, reason, silentMs }: PayloadOf<"runtime.retrying">) => {
      if (silentMs !== undefined) return `已有 ${seconds(silentMs)} 秒没有输出。`
      const of = maxAttempts === undefined ? "" : `，共 ${maxAttempts} 次`
      const which = attempt === undefined ? "" : `（第 ${attempt} 次${of}）`
      const when = delayMs === undefined ? "正在重试" : `${seconds(delayMs)} 秒后重试`
      return `模型调用失败：${reason}。${when}${which}。`
    },
    pauses: { paused: "已暂停。", resumed: "已继续。" },
    notices: {
      compacted: "对话已压缩。",
      model_changed: "模型已更换。",
      rate_limited: "已达到速率限制。",
      warning: "警告",
      refused: "已拒绝。",
      other: ""
    },
    continued: "智能体自行继续工作。",
    finished: "已结束，并停止了后台任务：",
    projectSettings: { ignored: "已忽略项目设置：", enabled: "已启用项目设置：" },
    gap: (from: number, to: number) => `缺少事件 ${from} 至 ${to}，Hub 已不再保存。`,
    say: "发给智能体的消息",
    sayHint: "按 Ctrl+Enter 发送。",
    send: "发送",
    bytes: (n: number) => `${count(n)} 字节`,
    unknown: (n: number) => `${count(n)} 个无法识别的事件`
  }
)

const en = {
  title: "Changes unknown",
  review: "The turn may have changed any file. Look at the workspace on the device.",
  reasons: {
    no_git: "The device has no git program. Install git there.",
    too_large: "The workspace could not be read within the time limit.",
    no_start: "There is no snapshot of the workspace from the start of the turn.",
    interrupted: "The Edge ended before the turn did.",
    failed: "git could not read the workspace."
  } satisfies Record<UnknownChangesReason, string>,
  leftOut: (n: number) => (n === 1 ? "1 file was not compared:" : `${n} files were not compared:`),
  more: (n: number) => `and ${n} more`
}

/** UI text of changes that are unknown, and of files that were not compared. */
export const unknownChangesMessages = bilingual(en, {
  title: "更改未知",
  review: "本轮可能更改了任何文件，请在设备上查看工作区。",
  reasons: {
    no_git: "设备上没有 git 程序，请先安装。",
    too_large: "未能在时限内读完工作区。",
    no_start: "没有本轮开始时的工作区快照。",
    interrupted: "Edge 在本轮结束之前退出了。",
    failed: "git 无法读取工作区。"
  },
  leftOut: (n) => `有 ${n} 个文件未能比较：`,
  more: (n) => `以及另外 ${n} 个`
})

/** Text of a reason. One of a later version has none. */
export const reasonText = (reasons: typeof en.reasons, reason: unknown): string | undefined =>
  typeof reason === "string" && Object.hasOwn(reasons, reason)
    ? reasons[reason as UnknownChangesReason]
    : undefined
