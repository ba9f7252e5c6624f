/** UI text of the side panel. */
import { bilingual } from "../text/Language.tsx"
import type { CommentWords } from "./commentsMessage.ts"

const isMac = /Mac|iP/.test(navigator.userAgent)

const count = (n: number) => n.toLocaleString("en")

/** Texts of the message that the agent receives. */
const message: { readonly en: CommentWords; readonly zh: CommentWords } = {
  en: {
    opening: (n) =>
      n === 1
        ? "Please address this comment on the changes."
        : `Please address these ${n} comments on the changes.`,
    place: (path, lines) => `${path}, ${lines}`,
    line: (line) => `line ${line}`,
    lines: (from, to) => `lines ${from}–${to}`,
    removedLine: (line) => `removed line ${line}`,
    removedLines: (from, to) => `removed lines ${from}–${to}`,
    moved: "(no longer in the changes)",
    suggestion: "I suggest these lines instead:"
  },
  zh: {
    opening: (n) => `请处理对更改的 ${n} 条评论。`,
    place: (path, lines) => `${path}，${lines}`,
    line: (line) => `第 ${line} 行`,
    lines: (from, to) => `第 ${from}–${to} 行`,
    removedLine: (line) => `已删除的第 ${line} 行`,
    removedLines: (from, to) => `已删除的第 ${from}–${to} 行`,
    moved: "（已不在更改中）",
    suggestion: "建议改为："
  }
}

const bytes = (n: number): string =>
  n < 1_024 ? `${n} B` : n < 1_048_576 ? `${(n / 1_024).toFixed(1)} KiB` : `${(n / 1_048_576).toFixed(1)} MiB`

const enChanges = {
  lines: "Changed lines",
  lineName: (line: number, change: "same" | "added" | "removed" | "changed", text: string) =>
    `line ${line}${change === "same" ? "" : `, ${change}`}: ${text}`,
  files: (n: number) => (n === 1 ? "1 file" : `${count(n)} files`),
  firstFiles: (n: number) => `First ${count(n)} files`,
  viewed: "Viewed",
  viewedFile: (path: string) => `Viewed: ${path}`,
  viewedCount: (viewed: number, all: number) => `viewed ${viewed} of ${all}`,
  noChanges: "No changes in this turn.",
  tree: "File tree",
  split: "Side by side",
  more: "More actions",
  expandAll: "Expand all",
  collapseAll: "Collapse all",
  loadAgain: "Load again",
  moreFiles: "Show more files",
  stale: "The files changed since.",
  renamedFrom: (from: string) => `renamed from ${from}`,
  status: { added: "added", modified: "modified", deleted: "deleted", renamed: "renamed", untracked: "new" },
  notes: {
    binary: "Binary file. Its content is not shown.",
    truncated: "Too large to show in full. Open the file on the device to see all changes.",
    empty: "Empty file.",
    renamed: "Renamed without other changes.",
    mode: "Only the mode of the file changed.",
    large: "Large change."
  },
  showLines: (n: number) => `Show ${count(n)} changed lines`,
  commentOn: (lines: string) => `Comment on ${lines}`,
  commentHint: "Ctrl+Enter adds, with Shift sends all.",
  commentCount: (n: number) => (n === 1 ? "1 comment, not sent" : `${n} comments, not sent`),
  addComment: "Add comment",
  suggest: "Suggest an edit",
  noSuggestion: "Remove the suggestion",
  suggestionLabel: "Your version of the changed lines",
  suggestionHint: "Apply it yourself, or send it to the agent.",
  suggested: "Suggested lines",
  apply: "Apply",
  applyLabel: "Apply the suggestion",
  saveComment: "Save comment",
  sendComments: (n: number) => (n === 1 ? "Send 1 comment" : `Send ${n} comments`),
  sentComments: (n: number) => (n === 1 ? "1 comment sent." : `${n} comments sent.`),
  tooLong: "The comments are too long for one message. Shorten or remove some.",
  sendKeys: isMac ? "⌘ ⇧ ↵" : "Ctrl ⇧ ↵",
  notSent: "not sent",
  edit: "Edit",
  remove: "Remove",
  cancel: "Cancel",
  lineGone: "These lines are no longer in the changes.",
  lostFiles: "Comments on files that are no longer in the changes:"
}

const zhChanges: typeof enChanges = {
  lines: "更改的行",
  lineName: (line, change, text) =>
    `第 ${line} 行${{ same: "", added: "，新增", removed: "，删除", changed: "，修改" }[change]}：${text}`,
  files: (n) => `${count(n)} 个文件`,
  firstFiles: (n) => `前 ${count(n)} 个文件`,
  viewed: "已看",
  viewedFile: (path) => `已看：${path}`,
  viewedCount: (viewed, all) => `已看 ${viewed}/${all}`,
  noChanges: "本轮没有更改。",
  tree: "文件树",
  split: "并排视图",
  more: "更多操作",
  expandAll: "全部展开",
  collapseAll: "全部折叠",
  loadAgain: "重新加载",
  moreFiles: "显示更多文件",
  stale: "文件已变化。",
  renamedFrom: (from) => `原名 ${from}`,
  status: { added: "新增", modified: "修改", deleted: "删除", renamed: "重命名", untracked: "新文件" },
  notes: {
    binary: "二进制文件，不显示内容。",
    truncated: "内容过大，未完整显示。请在设备上打开文件查看全部更改。",
    empty: "空文件。",
    renamed: "仅重命名，没有其他更改。",
    mode: "仅文件权限有变化。",
    large: "更改较多。"
  },
  showLines: (n) => `显示 ${count(n)} 行更改`,
  commentOn: (lines) => `评论${lines}`,
  commentHint: "Ctrl+Enter 添加，加 Shift 全部发送。",
  commentCount: (n) => `${n} 条评论未发送`,
  addComment: "添加评论",
  suggest: "建议修改",
  noSuggestion: "移除建议",
  suggestionLabel: "您希望的更改内容",
  suggestionHint: "可自行应用，或发送给智能体。",
  suggested: "建议的内容",
  apply: "应用",
  applyLabel: "应用此建议",
  saveComment: "保存评论",
  sendComments: (n) => `发送 ${n} 条评论`,
  sentComments: (n) => `已发送 ${n} 条评论。`,
  tooLong: "评论过长，无法作为一条消息发送。请缩短或移除部分评论。",
  sendKeys: isMac ? "⌘ ⇧ ↵" : "Ctrl ⇧ ↵",
  notSent: "未发送",
  edit: "编辑",
  remove: "移除",
  cancel: "取消",
  lineGone: "这些行已不在更改中。",
  lostFiles: "以下评论所在的文件已不在更改中："
}

const enFiles = {
  allFiles: "All files",
  again: "Try again",
  filesOffline: (device: string) =>
    `${device === "" ? "The device" : device} is offline. Its files can't be read now.`,
  worktreeFiles: "This run works in its own worktree. These are the files of the workspace.",
  emptyFolder: "Empty folder.",
  emptyFile: "Empty file.",
  binaryFile: "Binary file. Its content is not shown.",
  imageFile: "Image. It can't be shown here; open it on the device.",
  startOfFile: (size: number) => `The first part of ${bytes(size)}.`,
  link: "link",
  size: bytes
}

const zhFiles: typeof enFiles = {
  allFiles: "全部文件",
  again: "重试",
  filesOffline: (device) => `${device === "" ? "该设备" : `${device} `}已离线，暂时无法读取文件。`,
  worktreeFiles: "此运行在独立的工作树中，以下是工作区的文件。",
  emptyFolder: "空文件夹。",
  emptyFile: "空文件。",
  binaryFile: "二进制文件，不显示内容。",
  imageFile: "图片无法在此显示，请在设备上打开。",
  startOfFile: (size) => `仅显示开头部分，共 ${bytes(size)}。`,
  link: "链接",
  size: bytes
}

const enOthers = {
  noArtifacts: "No artifacts yet.",
  preview: "Preview",
  noPreviews: "No previews yet.",
  morePreviews: "Look further in the log",
  openPreview: "Open preview",
  previewWhere: (device: string) => `Opens only in a browser on ${device === "" ? "the device" : device}.`,
  previewMembers: "Only project members can open it.",
  previewBlocked: "No new tab?",
  previewLink: "Open it here (once, within a minute).",
  previewClosed: "The preview is closed.",
  previewOffline: (device: string) =>
    `${device === "" ? "The device" : device} is disconnected. Start its Edge to open the preview.`,
  previewNoAddress: "The device reported no address.",
  events: "Events",
  eventType: "Event type",
  allEvents: "All events",
  eventCount: (n: number) => (n === 1 ? "1 event" : `${count(n)} events`),
  firstEvents: (n: number) => `First ${count(n)} events`,
  unknownEvents: (n: number) => (n === 1 ? "1 unrecognized event" : `${count(n)} unrecognized events`)
}

const zhOthers: typeof enOthers = {
  noArtifacts: "还没有产物。",
  preview: "预览",
  noPreviews: "还没有预览。",
  morePreviews: "继续在日志中查找",
  openPreview: "打开预览",
  previewWhere: (device) => `只能在${device === "" ? "该设备" : ` ${device} `}上的浏览器中打开。`,
  previewMembers: "仅项目成员可以打开。",
  previewBlocked: "没有打开新标签页？",
  previewLink: "在此打开（一分钟内有效，仅一次）。",
  previewClosed: "预览已关闭。",
  previewOffline: (device) => `${device === "" ? "该设备" : `${device} `}未连接。请启动其 Edge 以打开预览。`,
  previewNoAddress: "设备未上报地址。",
  events: "事件",
  eventType: "事件类型",
  allEvents: "全部事件",
  eventCount: (n) => `${count(n)} 个事件`,
  firstEvents: (n) => `前 ${count(n)} 个事件`,
  unknownEvents: (n) => `${count(n)} 个无法识别的事件`
}

export const reviewMessages = bilingual(
  {
    panel: "Side panel",
    close: "Close panel",
    tabs: { changes: "Changes", files: "Files", artifacts: "Artifacts", preview: "Preview", log: "Log" },
    turns: "Turns",
    thisTurn: "This turn",
    turn: (n: number) => `Turn ${n}`,
    message: message.en,
    ...enChanges,
    ...enFiles,
    ...enOthers
  },
  {
    panel: "侧边面板",
    close: "关闭面板",
    tabs: { changes: "更改", files: "文件", artifacts: "产物", preview: "预览", log: "日志" },
    turns: "轮次",
    thisTurn: "本轮",
    turn: (n: number) => `第 ${n} 轮`,
    message: message.zh,
    ...zhChanges,
    ...zhFiles,
    ...zhOthers
  }
)
