/**
 * Chat messages as commands: their parser, and the commands about work in progress: status, list, cancel and decide.
 *
 * A command, in English or Chinese, is a short message of words from a list. Any other message is a text for the agent, unchanged. A message that begins
 * with a slash and a word is one only after `/new`, `/run` or `/start`, so a mistyped command starts nothing.
 */
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import type { Task } from "@corral/domain/task/Task"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import * as phrases from "../answer/Phrases.ts"
import type { Responder } from "../answer/Responder.ts"
import { answerText } from "../following/AnswerText.ts"
import { type Follow, Follows, followedOf } from "../following/Follows.ts"
import { ApprovalCardStore } from "../following/RequestCardStore.ts"
import { phaseTitle } from "../following/RunCard.ts"
import { hasTaskEnded } from "../following/TaskProgress.ts"
import { Hub, type HubFailed, type HubUnavailable } from "../hub/Hub.ts"
import type { LocalizedText, NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { Decisions } from "./Answers.ts"
import type { ConversationKey } from "./Conversations.ts"
import { stopMessage } from "./HubSessions.ts"

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

/** A message as a command, or as a text for the agent. */
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

type Failed = HubFailed | PlatformUnavailable | NotSent | SqlError.SqlError
type Handled = Effect.Effect<void, Failed>
type DecideCommand = Extract<Command, { readonly _tag: "Decide" }>

type Services = ApprovalCardStore | Decisions | Follows | Hub

export class ChatCommands extends Context.Service<
  ChatCommands,
  {
    readonly status: (key: ConversationKey, responder: Responder) => Handled
    /** `direct`: no other user reads the answer, so it contains the first words of each task. */
    readonly list: (responder: Responder, direct: boolean) => Handled
    readonly cancel: (key: ConversationKey, responder: Responder, which: number | undefined) => Handled
    readonly decide: (key: ConversationKey, responder: Responder, command: DecideCommand) => Handled
  }
>()("corral/gateway/ChatCommands") {
  static readonly layer = Layer.effect(
    ChatCommands,
    Effect.map(Effect.context<Services>(), (services) => {
      const provide = Effect.provide(services)
      return ChatCommands.of({
        status: (key, responder) => provide(showStatus(key, responder)),
        list: (responder, direct) => provide(listTasks(responder, direct)),
        cancel: (key, responder, which) => provide(cancelTask(key, responder, which)),
        decide: (key, responder, command) => provide(decide(key, responder, command))
      })
    })
  )
}

/** The item with a number, from 1, or the only item. Otherwise the answer to the user. */
const choose = <A>(
  items: ReadonlyArray<A>,
  which: number | undefined,
  { example, none }: { readonly none: LocalizedText; readonly example: string }
): { readonly item: A } | { readonly words: LocalizedText } => {
  const [first] = items
  if (first === undefined) return { words: none }
  if (which === undefined)
    return items.length === 1 ? { item: first } : { words: phrases.whichOne(items.length, example) }
  const item = items[which - 1]
  return item === undefined ? { words: phrases.noSuchNumber } : { item }
}

const lines = (words: ReadonlyArray<LocalizedText>): LocalizedText => ({
  en: words.map(({ en }) => en).join("\n"),
  zh: words.map(({ zh }) => zh).join("\n")
})

const numbered = (at: number, of: string, { en, zh }: LocalizedText): LocalizedText => ({
  en: `${at + 1}. ${of} – ${en}`,
  zh: `${at + 1}. ${of} – ${zh}`
})

const TITLE_MAX = 60

/** Time to the second, with the end of the id, which distinguishes tasks of the same second. */
const timeOf = ({ createdAt, id }: Task): string =>
  `${createdAt.slice(0, 19).replace("T", " ")} UTC · …${id.slice(-6)}`

/** The first words of a task, without secrets, paths and code. */
const titleOf = ({ input }: Task): string => {
  const line = answerText(messageOfPrompt(input.text).split("\n", 1)[0] ?? "") ?? ""
  const characters = Array.from(line)
  return characters.length > TITLE_MAX ? `${characters.slice(0, TITLE_MAX).join("")}…` : line
}

/** The items that the user may read. Readers of the chat may not be members of the project. */
const visibleTo = <A>(
  items: ReadonlyArray<A>,
  read: (item: A) => Effect.Effect<unknown, HubFailed>
): Effect.Effect<ReadonlyArray<A>, HubUnavailable> =>
  Effect.filter(
    items,
    (item) =>
      read(item).pipe(
        Effect.as(true),
        Effect.catchTag("HubRefused", () => Effect.succeed(false))
      ),
    { concurrency: 4 }
  )

const chatOf = ({ chatId }: ConversationKey, { account }: Responder) => ({ ...account, chatId })

/** A call that the Hub refuses if the account may not read what is followed. */
const readFollowed = (
  hub: Hub["Service"],
  { account }: Responder,
  follow: Follow
): Effect.Effect<unknown, HubFailed> => {
  const followed = followedOf(follow)
  return "taskId" in followed
    ? hub.as(account, ({ tasks }) => tasks.get({ params: { id: followed.taskId } }))
    : hub.as(account, ({ sessions }) => sessions.get({ params: { id: followed.sessionId } }))
}

/** Work in progress. What has ended is followed a little longer, until its answer is posted. */
const openTasks = Effect.fn("ChatCommands.openTasks")(function* (key: ConversationKey, responder: Responder) {
  const hub = yield* Hub
  const followed = yield* (yield* Follows).openIn(chatOf(key, responder))
  const open = followed.filter(({ progress }) => !hasTaskEnded(progress))
  return yield* visibleTo(open, (follow) => readFollowed(hub, responder, follow))
})

const showStatus = Effect.fn("ChatCommands.status")(function* (key: ConversationKey, responder: Responder) {
  const open = yield* openTasks(key, responder)
  const listed = open.map(({ place, progress }, at) => numbered(at, place, phaseTitle(progress)))
  yield* responder.reply(listed.length === 0 ? phrases.nothingHere : lines(listed))
})

const listTasks = Effect.fn("ChatCommands.list")(function* ({ account, reply }: Responder, direct: boolean) {
  const hub = yield* Hub
  const { names, tasks } = yield* hub.as(account, (calls) =>
    Effect.all({
      tasks: calls.tasks.list({ query: { limit: 10 } }),
      names: Effect.map(
        calls.projects.list({ query: { limit: 200 } }),
        ({ items }) => new Map(items.map(({ id, name }) => [id, name]))
      )
    })
  )
  const listed = tasks.items.map((task, at) => {
    const title = direct ? titleOf(task) : ""
    const label = `${names.get(task.projectId) ?? "–"} · ${task.agentId} · ${timeOf(task)}`
    return numbered(at, title === "" ? label : `${label} · ${title}`, phrases.taskState(task.state))
  })
  yield* reply(listed.length === 0 ? phrases.noTasks : lines(listed))
})

const cancelTask = Effect.fn("ChatCommands.cancel")(function* (
  key: ConversationKey,
  responder: Responder,
  which: number | undefined
) {
  const hub = yield* Hub
  const open = yield* openTasks(key, responder)
  const choice = choose(open, which, { none: phrases.nothingHere, example: "cancel 1" })
  if ("words" in choice) return yield* responder.reply(choice.words)
  const followed = followedOf(choice.item)
  if ("taskId" in followed)
    yield* hub.as(responder.account, ({ tasks }) => tasks.cancel({ params: { id: followed.taskId } }))
  const isStopped = "taskId" in followed || (yield* stopMessage(responder, followed))
  yield* responder.reply(isStopped ? phrases.cancelled : phrases.refusalText({ code: "run_not_cancellable" }))
})

const decide = Effect.fn("ChatCommands.decide")(function* (
  key: ConversationKey,
  responder: Responder,
  { decision, which }: DecideCommand
) {
  const pending = yield* (yield* ApprovalCardStore).pendingIn(chatOf(key, responder))
  const hub = yield* Hub
  const visible = yield* visibleTo(pending, ({ id: approvalId }) =>
    hub.as(responder.account, ({ approvals }) => approvals.get({ params: { id: approvalId } }))
  )
  const example = decision === "allow" ? "approve 1" : "deny 1"
  const choice = choose(visible, which, { none: phrases.nothingToDecide, example })
  if ("words" in choice) return yield* responder.reply(choice.words)
  const answer = yield* (yield* Decisions).decide(responder, choice.item, decision, Effect.void)
  yield* responder.reply(answer ?? phrases.decided(decision))
})
