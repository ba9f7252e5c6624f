/**
 * Parser of chat messages: a command, in English or Chinese, or a text for the agent. Pure.
 *
 * A command is a short message of known words. Any other message is a text for the agent, unchanged. A message that begins with a slash and a
 * word is one only after `/new`, `/run` or `/start`, so a mistyped command starts nothing.
 */

export type Command =
  | { readonly _tag: "Work"; readonly text: string }
  /** A text for the run in progress. */
  | { readonly _tag: "Now"; readonly text: string }
  /** A new session. Its first text may follow. */
  | { readonly _tag: "Fresh"; readonly text: string }
  | { readonly _tag: "Number"; readonly digits: string }
  | { readonly _tag: "Decide"; readonly decision: "allow" | "deny"; readonly which: number | undefined }
  | { readonly _tag: "Cancel"; readonly which: number | undefined }
  | { readonly _tag: "Use"; readonly which: number | undefined }
  | { readonly _tag: "Agent"; readonly name: string | undefined }
  /** Limits of the agent's turns, as they are typed. Empty: to see them. */
  | { readonly _tag: "Limit"; readonly text: string }
  /** A slash command that does not exist, or not with these words. */
  | {
      readonly _tag:
        | "Status"
        | "List"
        | "Bind"
        | "Unbind"
        | "Help"
        | "Stop"
        | "Continue"
        | "Compare"
        | "Nothing"
        | "Unknown"
    }

/** Commands by their first word, without `/`. */
const words: Readonly<Record<string, Command["_tag"] | "Allow" | "Deny">> = {
  help: "Help",
  "?": "Help",
  帮助: "Help",
  status: "Status",
  状态: "Status",
  list: "List",
  列表: "List",
  cancel: "Cancel",
  stop: "Stop",
  取消: "Cancel",
  停止: "Stop",
  compare: "Compare",
  对比: "Compare",
  continue: "Continue",
  继续: "Continue",
  approve: "Allow",
  allow: "Allow",
  批准: "Allow",
  同意: "Allow",
  deny: "Deny",
  reject: "Deny",
  拒绝: "Deny",
  bind: "Bind",
  link: "Bind",
  绑定: "Bind",
  unbind: "Unbind",
  unlink: "Unbind",
  解绑: "Unbind",
  use: "Use",
  where: "Use",
  位置: "Use",
  使用: "Use",
  agent: "Agent",
  agents: "Agent",
  智能体: "Agent",
  limit: "Limit",
  limits: "Limit",
  限额: "Limit",
  new: "Fresh",
  run: "Work",
  start: "Work",
  新任务: "Fresh",
  新会话: "Fresh",
  运行: "Work",
  开始: "Work"
}

/**
 * Words that are commands only after a slash, because sentences begin with them. The Chinese words need no slash. `new` alone needs none either:
 * Slack's client does not send messages that begin with a slash.
 */
const needsSlash = new Set(["new", "run", "start"])

const numberOf = (text: string): number | undefined => (/^\d{1,3}$/.test(text) ? Number(text) : undefined)

/** Names with values, `off`, or nothing. */
const LIMITS = /^(?:off|\w+=\S*(?:\s+\w+=\S*)*)?$/

const now = (text: string): Command => (text === "" ? { _tag: "Help" } : { _tag: "Now", text })

export const parseCommand = (message: string): Command => {
  const text = message.trim()
  if (text === "") return { _tag: "Nothing" }
  if (/^\d{6}$/.test(text)) return { _tag: "Number", digits: text }
  // The full-width sign is that of a Chinese keyboard.
  if (/^[!\uff01]/u.test(text)) return now(text.slice(1).trim())
  const [, slash = "", word = "", rest = ""] = /^(\/?)(\S+)\s*([\s\S]*)$/u.exec(text) ?? []
  const name = word.toLowerCase()
  // A path such as `/etc/hosts` is not a command.
  const isCommand = slash === "/" && /^[\p{L}\p{N}_?-]+$/u.test(word)
  const work: Command = isCommand ? { _tag: "Unknown" } : { _tag: "Work", text }
  if (!Object.hasOwn(words, name) || (slash === "" && needsSlash.has(name) && text !== "new")) return work
  const tag = words[name]
  switch (tag) {
    case "Work":
      return rest === "" ? { _tag: "Help" } : { _tag: "Work", text: rest }
    case "Fresh":
      return { _tag: "Fresh", text: rest }
    case "Agent":
      // "agent smith wrote this" is not a command.
      return /\s/.test(rest) ? work : { _tag: "Agent", name: rest === "" ? undefined : rest }
    case "Limit":
      // "limit the output to ten lines" is not a command.
      return LIMITS.test(rest) ? { _tag: "Limit", text: rest } : work
    case "Allow":
    case "Deny":
    case "Cancel":
    case "Stop":
    case "Use": {
      const which = numberOf(rest)
      if (rest !== "" && which === undefined) return work
      if (tag === "Stop") return which === undefined ? { _tag: "Stop" } : { _tag: "Cancel", which }
      if (tag === "Cancel" || tag === "Use") return { _tag: tag, which }
      return { _tag: "Decide", decision: tag === "Allow" ? "allow" : "deny", which }
    }
    case undefined:
      return work
    default:
      return rest === "" ? ({ _tag: tag } as Command) : work
  }
}
