/** Chat commands about work in progress: status, list, cancel and decide. */
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import type { Task } from "@corral/domain/task/Task"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { answerText } from "../following/AnswerText.ts"
import { ApprovalCardStore } from "../following/RequestCardStore.ts"
import { type Follow, followedOf, Follows } from "../following/Follows.ts"
import { phaseTitle } from "../following/RunCard.ts"
import { hasTaskEnded } from "../following/TaskProgress.ts"
import { Hub, type HubFailed, type HubUnavailable } from "../hub/Hub.ts"
import type { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import type { LocalizedText } from "../platform/Card.ts"
import type { Command } from "./Command.ts"
import type { ConversationKey } from "./Conversations.ts"
import { Decisions } from "./Answers.ts"
import { stopMessage } from "./HubSessions.ts"
import * as phrases from "../answer/Phrases.ts"
import type { Responder } from "../answer/Responder.ts"

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
