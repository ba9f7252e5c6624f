/** Chat commands for tasks: status, list, cancel, decide, and the location and agent of new tasks. */
import type { TaskId } from "@corral/domain/identity/Ids"
import type { Task } from "@corral/domain/task/Task"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { answerText } from "../following/AnswerText.ts"
import { ApprovalCardStore } from "../following/ApprovalCardStore.ts"
import { Follows } from "../following/Follows.ts"
import { phaseTitle } from "../following/RunCard.ts"
import { Hub } from "../hub/Hub.ts"
import type { HubFailed } from "../hub/HubFailures.ts"
import type { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import type { LocalizedText } from "../platform/LocalizedText.ts"
import { ChatTasks } from "./ChatTasks.ts"
import type { Command } from "./Command.ts"
import { type ConversationKey, Conversations } from "./Conversations.ts"
import { Decisions } from "./Decisions.ts"
import { LocationPicker } from "./LocationPicker.ts"
import * as phrases from "./Phrases.ts"
import type { Responder } from "./Responder.ts"
import { locationName, WorkLocations } from "./WorkLocations.ts"

type Failed = HubFailed | PlatformUnavailable | NotSent | SqlError.SqlError
type Handled = Effect.Effect<void, Failed>
type DecideCommand = Extract<Command, { readonly _tag: "Decide" }>

type Services =
  | ApprovalCardStore
  | ChatTasks
  | Conversations
  | Decisions
  | Follows
  | Hub
  | LocationPicker
  | WorkLocations

export class ChatCommands extends Context.Service<
  ChatCommands,
  {
    readonly status: (key: ConversationKey, responder: Responder) => Handled
    /** `direct`: no other user reads the answer, so it contains the first words of each task. */
    readonly list: (responder: Responder, direct: boolean) => Handled
    readonly cancel: (key: ConversationKey, responder: Responder, which: number | undefined) => Handled
    readonly decide: (key: ConversationKey, responder: Responder, command: DecideCommand) => Handled
    readonly use: (key: ConversationKey, responder: Responder, which: number | undefined) => Handled
    readonly agent: (key: ConversationKey, responder: Responder, name: string | undefined) => Handled
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
        decide: (key, responder, command) => provide(decide(key, responder, command)),
        use: (key, responder, which) => provide(chooseLocation(key, responder, which)),
        agent: (key, responder, name) => provide(chooseAgent(key, responder, name))
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
  const line = answerText(input.text.split("\n", 1)[0] ?? "") ?? ""
  const characters = Array.from(line)
  return characters.length > TITLE_MAX ? `${characters.slice(0, TITLE_MAX).join("")}…` : line
}

/** The items whose tasks the user may read. Readers of the chat may not be members of the project. */
const visibleTo = Effect.fn("ChatCommands.visibleTo")(function* <A extends { readonly taskId: TaskId }>(
  { account }: Responder,
  items: ReadonlyArray<A>
) {
  const hub = yield* Hub
  return yield* Effect.filter(
    items,
    ({ taskId }) =>
      hub
        .as(account, ({ tasks }) => tasks.get({ params: { id: taskId } }))
        .pipe(
          Effect.as(true),
          Effect.catchTag("HubRefused", () => Effect.succeed(false))
        ),
    { concurrency: 4 }
  )
})

const chatOf = ({ chatId }: ConversationKey, { account }: Responder) => ({ ...account, chatId })

const openTasks = Effect.fn("ChatCommands.openTasks")(function* (key: ConversationKey, responder: Responder) {
  const open = yield* (yield* Follows).openIn(chatOf(key, responder))
  return yield* visibleTo(responder, open)
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
  const { taskId } = choice.item
  yield* hub.as(responder.account, ({ tasks }) => tasks.cancel({ params: { id: taskId } }))
  yield* responder.reply(phrases.cancelled)
})

const decide = Effect.fn("ChatCommands.decide")(function* (
  key: ConversationKey,
  responder: Responder,
  { decision, which }: DecideCommand
) {
  const pending = yield* (yield* ApprovalCardStore).pendingIn(chatOf(key, responder))
  const visible = yield* visibleTo(responder, pending)
  const example = decision === "allow" ? "approve 1" : "deny 1"
  const choice = choose(visible, which, { none: phrases.nothingToDecide, example })
  if ("words" in choice) return yield* responder.reply(choice.words)
  const answer = yield* (yield* Decisions).decide(responder, choice.item, decision, Effect.void)
  yield* responder.reply(answer ?? phrases.decided(decision))
})

const chooseLocation = Effect.fn("ChatCommands.use")(function* (
  key: ConversationKey,
  responder: Responder,
  which: number | undefined
) {
  const locations = yield* (yield* WorkLocations).of(responder.account)
  if (locations.length === 0) return yield* responder.reply(phrases.noLocations)
  if (which === undefined)
    return yield* (yield* LocationPicker).show(key, responder, locations, phrases.locationsTitle)
  const location = locations[which - 1]
  if (location === undefined) return yield* responder.reply(phrases.noSuchLocation)
  yield* (yield* ChatTasks).useLocation(key, responder, location)
})

const chooseAgent = Effect.fn("ChatCommands.agent")(function* (
  { chatKey, key }: ConversationKey,
  { account, reply }: Responder,
  name: string | undefined
) {
  const conversations = yield* Conversations
  const locations = yield* WorkLocations
  const chat = yield* conversations.get(chatKey)
  const place = chat.place ?? (yield* locations.of(account))[0]
  if (place === undefined) return yield* reply(phrases.noLocations)
  const agents = yield* locations.agents(account, place)
  if (agents.length === 0) return yield* reply(phrases.noAgent)
  const wanted = agents.find(({ id }) => id === name?.toLowerCase() || id === name)
  if (wanted === undefined)
    return yield* reply(phrases.agentsAre(agents.map(({ id }) => id).join(", "), place.agentId))
  const moved = { ...place, agentId: wanted.id, names: { ...place.names, agent: wanted.label } }
  yield* conversations.set(chatKey, { ...chat, place: moved })
  if (key !== chatKey) yield* conversations.set(key, { ...(yield* conversations.get(key)), place: moved })
  yield* reply(phrases.agentIs(locationName(moved)))
})
