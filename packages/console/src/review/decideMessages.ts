/** UI text of decisions about changes. */
import type { ApartReason } from "@corral/domain/edge-api/ChangeSet"
import { bilingual } from "../text/Language.tsx"

const files = (n: number) => (n === 1 ? "1 file" : `${n.toLocaleString("en")} files`)

const enApart: Record<ApartReason, string> = {
  protected_name: "A program of the workspace reads this file by its name",
  secret: "An added line has a secret",
  new_program: "A new program",
  outside_link: "A link that leaves the workspace",
  set_id: "Runs with the rights of its owner"
}

const zhApart: Record<ApartReason, string> = {
  protected_name: "工作区中的程序会按名称读取此文件",
  secret: "新增的行中含有密钥",
  new_program: "新的可执行程序",
  outside_link: "指向工作区之外的链接",
  set_id: "会以文件所有者的权限运行"
}

const en = {
  accept: "Accept",
  reject: "Reject",
  acceptAll: (n: number) => (n === 1 ? "Accept 1 file" : `Accept all ${n.toLocaleString("en")} files`),
  rejectAll: "Reject all…",
  acceptPart: (what: string) => `Accept ${what}`,
  rejectPart: (what: string) => `Reject ${what}`,
  rejectWith: (n: number) => (n === 1 ? "Reject with 1 comment" : `Reject with ${n} comments`),
  rejectPartWith: (n: number, what: string) =>
    n === 1 ? `Reject with 1 comment: ${what}` : `Reject with ${n} comments: ${what}`,
  sayWhy: (what: string) => `Reject ${what} and say why`,
  hunk: (lines: string, path: string) => `${lines} of ${path}`,
  accepting: "Accepting…",
  rejecting: "Rejecting…",
  widen: "Show more lines around",
  blank: "Only white space differs.",
  hideBlank: "Hide white space changes",
  conflict: "Edited by you too",
  showConflict: "Compare both versions",
  loadFailed: "The changes of this file could not be loaded.",
  tryAgain: "Try again",
  loading: "Loading…",
  apartTitle: "Not part of “Accept all”",
  apartText: "Each of these files needs its own decision.",
  apart: enApart,
  waits: {
    live: "A turn is still working on these changes. You can decide when it has ended.",
    role: "Your role in this project can't decide about changes.",
    incomplete: (n: number) =>
      n === 1
        ? "1 path could not be compared, so not everything can be accepted at once:"
        : `${n} paths could not be compared, so not everything can be accepted at once:`
  },
  othersDecide: "In this project, someone who did not ask for the changes decides about them.",
  keys: "a goes to Accept, d to Reject; Enter confirms.",
  nothing: "Nothing has been changed.",
  allDecided: "Everything is decided.",
  allAccepted: "Accepted changes are in the workspace.",
  ignored: (n: number) =>
    n === 1
      ? "1 ignored file stays with the agent"
      : `${n.toLocaleString("en")} ignored files stay with the agent`,
  ignoredText: "Files that the workspace ignores are not accepted. The next turn still sees them.",
  commits: (n: number) => (n === 1 ? "1 commit of the agent" : `${n} commits of the agent`),
  commitsText: "Their content is part of the changes. It arrives in the workspace as uncommitted work.",
  decisions: (n: number) => (n === 1 ? "1 decision" : `${n} decisions`),
  decided: {
    accept: (n: number) => `Accepted ${files(n)}`,
    reject: (n: number) => `Rejected ${files(n)}`,
    undo: (n: number) => `Undid ${files(n)}`
  },
  by: "by",
  undone: "undone",
  undo: "Undo",
  undoDecision: (what: string) => `Undo: ${what}`,
  told: "The agent learns of it with your next message.",
  comment: "Why?",
  commentHint: "The agent reads this with your next message.",
  sendNow: "Send it to the agent now",
  nowText: "I rejected some of your changes. Please read what I rejected and why, and work on it again.",
  moreComments: (n: number) => (n === 1 ? "and 1 more comment" : `and ${n} more comments`),
  editedBy: (n: number) => (n === 1 ? "1 part edited" : `${n} parts edited`),
  rejectTitle: (n: number) => (n === 1 ? "Reject 1 file?" : `Reject ${n.toLocaleString("en")} files?`),
  rejectOne: (path: string) => `Reject changes in ${path}?`,
  rejectText: "The changes leave the agent's copy. The workspace stays as it is, and you can undo this.",
  rejectApart: (n: number) =>
    n === 1 ? "1 file that is listed apart stays." : `${n} files that are listed apart stay.`,
  withComments: (n: number) => (n === 1 ? "1 line comment goes along." : `${n} line comments go along.`),
  outdated:
    "These changes were no longer what you saw, so nothing was decided. The newest ones are loaded: decide again.",
  ownRequest: "You asked for these changes. In this project, someone else decides about them.",
  conflictTitle: (n: number) =>
    n === 1
      ? "The workspace has other changes at the same place"
      : `The workspace has other changes in ${n} files`,
  conflictText: "Nothing was written. You can:",
  conflictMarked: "You and the agent changed the same lines. You can:",
  conflictSteps: {
    edit: "edit the file in the workspace until it has what you want of both, then load the changes again;",
    reject: "reject the agent's changes of the file;",
    ask: "or ask the agent to work on your version."
  },
  askAgent: "Ask the agent",
  askText: (paths: string) =>
    `I changed the same lines as you in ${paths}. Please read the newest version in the workspace and make your changes fit it.`,
  asked: "The agent was asked.",
  sides: { workspace: "Workspace", change: "Agent", base: "Before both" },
  noSide: "No text to show: the file is absent here, binary or too large.",
  emptySide: "Nothing at this place.",
  dismiss: "Close",
  undoTitle: {
    accept: "Undo this acceptance?",
    reject: "Undo this rejection?",
    run: "Undo this turn?"
  },
  undoText: {
    accept: "These files return to what they were in the workspace. The changes can be decided again.",
    reject: "The changes return to the agent's copy, and can be decided again.",
    run: "These files return to what they were before the turn. Later edits of yours stay where they don't overlap."
  },
  undoConflict:
    "Nothing was undone. These files have changed at the same place since. Change them in the workspace, and undo again.",
  moreFiles: (n: number) => (n === 1 ? "and 1 more file" : `and ${n} more files`),
  undoNothing: "There is nothing to undo.",
  undoTurn: "Undo this turn…",
  undoNewest: "Undo the decision…",
  waiting: (n: number) => (n === 1 ? "1 file to decide" : `${n.toLocaleString("en")} files to decide`),
  close: "Close"
}

const zh: typeof en = {
  accept: "接受",
  reject: "拒绝",
  acceptAll: (n) => `接受全部 ${n.toLocaleString("en")} 个文件`,
  rejectAll: "全部拒绝…",
  acceptPart: (what) => `接受：${what}`,
  rejectPart: (what) => `拒绝：${what}`,
  rejectWith: (n) => `拒绝并附 ${n} 条评论`,
  rejectPartWith: (n, what) => `拒绝并附 ${n} 条评论：${what}`,
  sayWhy: (what) => `拒绝并说明原因：${what}`,
  hunk: (lines, path) => `${path} ${lines}`,
  accepting: "接受中…",
  rejecting: "拒绝中…",
  widen: "显示更多上下文",
  blank: "仅空白不同。",
  hideBlank: "隐藏空白更改",
  conflict: "您也改过",
  showConflict: "对比两个版本",
  loadFailed: "未能加载此文件的更改。",
  tryAgain: "重试",
  loading: "加载中…",
  apartTitle: "不包含在“接受全部”中",
  apartText: "以下文件需要逐个决定。",
  apart: zhApart,
  waits: {
    live: "仍有一轮在处理这些更改，结束后即可决定。",
    role: "您在此项目中的角色不能决定更改。",
    incomplete: (n) => `有 ${n} 个路径未能比较，因此不能一次全部接受：`
  },
  othersDecide: "在此项目中，更改须由未提出该请求的成员决定。",
  keys: "a 转到“接受”，d 转到“拒绝”，Enter 确认。",
  nothing: "没有任何更改。",
  allDecided: "已全部决定。",
  allAccepted: "已接受的更改在工作区中。",
  ignored: (n) => `${n.toLocaleString("en")} 个被忽略的文件留在智能体处`,
  ignoredText: "工作区忽略的文件不会被接受，下一轮仍能看到它们。",
  commits: (n) => `智能体的 ${n} 个提交`,
  commitsText: "提交的内容已包含在更改中，会作为未提交的修改进入工作区。",
  decisions: (n) => `${n} 项决定`,
  decided: {
    accept: (n) => `已接受 ${n} 个文件`,
    reject: (n) => `已拒绝 ${n} 个文件`,
    undo: (n) => `已撤销 ${n} 个文件`
  },
  by: "决定人：",
  undone: "已撤销",
  undo: "撤销",
  undoDecision: (what) => `撤销：${what}`,
  told: "智能体会随您的下一条消息得知。",
  comment: "原因",
  commentHint: "智能体会随您的下一条消息看到。",
  sendNow: "立即发送给智能体",
  nowText: "我拒绝了您的部分更改。请阅读被拒绝的内容和原因，并重新处理。",
  moreComments: (n) => `以及另外 ${n} 条评论`,
  editedBy: (n) => `${n} 处经修改`,
  rejectTitle: (n) => `要拒绝 ${n.toLocaleString("en")} 个文件吗？`,
  rejectOne: (path) => `要拒绝 ${path} 中的更改吗？`,
  rejectText: "这些更改会从智能体的副本中移除，工作区保持不变，之后可以撤销。",
  rejectApart: (n) => `单独列出的 ${n} 个文件会保留。`,
  withComments: (n) => `将附上 ${n} 条行评论。`,
  outdated: "这些更改与您看到的已不一致，因此未作决定。已加载最新内容，请重新决定。",
  ownRequest: "这些更改是您提出的。在此项目中须由其他成员决定。",
  conflictTitle: (n) => (n === 1 ? "工作区的同一位置已有其他更改" : `工作区的 ${n} 个文件中已有其他更改`),
  conflictText: "没有写入任何内容。您可以：",
  conflictMarked: "您和智能体修改了相同的行。您可以：",
  conflictSteps: {
    edit: "在工作区中编辑该文件，保留双方需要的内容，然后重新加载更改；",
    reject: "拒绝智能体对该文件的更改；",
    ask: "或请智能体基于您的版本重新修改。"
  },
  askAgent: "请智能体处理",
  askText: (paths) => `我在 ${paths} 中修改了与您相同的行。请读取工作区中的最新版本，并让您的更改与之相符。`,
  asked: "已请智能体处理。",
  sides: { workspace: "工作区", change: "智能体", base: "双方修改之前" },
  noSide: "没有可显示的文本：文件在此不存在、为二进制或过大。",
  emptySide: "此处没有内容。",
  dismiss: "关闭",
  undoTitle: { accept: "要撤销这次接受吗？", reject: "要撤销这次拒绝吗？", run: "要撤销本轮吗？" },
  undoText: {
    accept: "以下文件在工作区中恢复原状，这些更改可重新决定。",
    reject: "这些更改回到智能体的副本中，可重新决定。",
    run: "以下文件恢复到本轮之前的状态。您之后的修改只要不重叠就会保留。"
  },
  undoConflict: "尚未撤销任何内容。这些文件之后在同一位置又有更改。请在工作区中修改它们，然后再次撤销。",
  moreFiles: (n) => `以及另外 ${n} 个文件`,
  undoNothing: "没有可撤销的内容。",
  undoTurn: "撤销本轮…",
  undoNewest: "撤销决定…",
  waiting: (n) => `${n.toLocaleString("en")} 个文件待决定`,
  close: "关闭"
}

export const decideMessages = bilingual(en, zh)
