/** The commands that ask what is going on, and change it: status, list, cancel, decide, where and by whom work is done. */
import type { TaskId } from "@corral/domain/identity/Ids"
import type { Task } from "@corral/domain/task/Task"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { answerText } from "../following/AnswerText.ts"
import { phaseWords } from "../following/RunCard.ts"
import { Follows } from "../following/Follows.ts"
import { Hub } from "../hub/Hub.ts"
import type { HubFailed } from "../hub/HubFailures.ts"
import type { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import type { Words } from "../platform/Words.ts"
import type { Command } from "./Command.ts"
import { Decisions } from "./Decisions.ts"
import * as phrases from "./Phrases.ts"
import { LocationPicker } from "./LocationPicker.ts"
import { locationName, WorkLocations } from "./WorkLocations.ts"
import type { Responder } from "./Responder.ts"
import { type ConversationKey, Conversations } from "./Conversations.ts"
import { ChatTasks } from "./ChatTasks.ts"

type Failed = HubFailed | PlatformUnavailable | NotSent | SqlError.SqlError

/** The only one, or the one of that number, from 1; else what the person is to be told. */
const chosen = <A>(
  items: ReadonlyArray<A>,
  which: number | undefined,
  { example, none }: { readonly none: Words; readonly example: string }
): { readonly item: A } | { readonly words: Words } => {
  const [first] = items
  if (first === undefined) return { words: none }
  if (which === undefined)
    return items.length === 1 ? { item: first } : { words: phrases.whichOne(items.length, example) }
  const item = items[which - 1]
  return item === undefined ? { words: phrases.noSuchNumber } : { item }
}

const lines = (words: ReadonlyArray<Words>): Words => ({
  en: words.map(({ en }) => en).join("\n"),
  zh: words.map(({ zh }) => zh).join("\n")
})

const numbered = (at: number, of: string, { en, zh }: Words): Words => ({
  en: `${at + 1}. ${of} – ${en}`,
  zh: `${at + 1}. ${of} – ${zh}`
})

const TITLE_MAX = 60

/** To the second, with the end of the id: no two tasks are listed alike. */
const timeOf = ({ createdAt, id }: Task): string =>
  `${createdAt.slice(0, 19).replace("T", " ")} UTC · …${id.slice(-6)}`

/** How a task begins, without secrets, paths and code. */
const titleOf = ({ input }: Task): string => {
  const line = answerText(input.text.split("\n", 1)[0] ?? "") ?? ""
  const characters = Array.from(line)
  return characters.length > TITLE_MAX ? `${characters.slice(0, TITLE_MAX).join("")}…` : line
}

export class ChatCommands extends Context.Service<
  ChatCommands,
  {
    readonly status: (spot: ConversationKey, speaker: Responder) => Effect.Effect<void, Failed>
    /** `direct`: no other person reads the answer, so tasks are named by how they begin. */
    readonly list: (speaker: Responder, direct: boolean) => Effect.Effect<void, Failed>
    readonly cancel: (
      spot: ConversationKey,
      speaker: Responder,
      which: number | undefined
    ) => Effect.Effect<void, Failed>
    readonly decide: (
      spot: ConversationKey,
      speaker: Responder,
      command: Extract<Command, { readonly _tag: "Decide" }>
    ) => Effect.Effect<void, Failed>
    readonly use: (
      spot: ConversationKey,
      speaker: Responder,
      which: number | undefined
    ) => Effect.Effect<void, Failed>
    readonly agent: (
      spot: ConversationKey,
      speaker: Responder,
      name: string | undefined
    ) => Effect.Effect<void, Failed>
  }
>()("corral/gateway/Requests") {
  static readonly layer = Layer.effect(
    ChatCommands,
    Effect.gen(function* () {
      const choice = yield* LocationPicker
      const deciding = yield* Decisions
      const follows = yield* Follows
      const hub = yield* Hub
      const places = yield* WorkLocations
      const talks = yield* Conversations
      const work = yield* ChatTasks
      const inChat = ({ chatId }: ConversationKey, { account }: Responder) => ({ ...account, chatId })

      /** Those of its tasks that the Hub shows to this person now: a chat is read by people who are not in the project. */
      const visible = <A extends { readonly taskId: TaskId }>(
        { account }: Responder,
        items: ReadonlyArray<A>
      ): Effect.Effect<ReadonlyArray<A>, HubFailed> =>
        Effect.filter(
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
      const openHere = (spot: ConversationKey, speaker: Responder) =>
        Effect.flatMap(follows.openIn(inChat(spot, speaker)), (open) => visible(speaker, open))

      return ChatCommands.of({
        status: Effect.fnUntraced(function* (spot, speaker) {
          const open = yield* openHere(spot, speaker)
          const said = open.map(({ place, progress }, at) => numbered(at, place, phaseWords(progress)))
          yield* speaker.reply(said.length === 0 ? phrases.nothingHere : lines(said))
        }),

        list: Effect.fnUntraced(function* ({ account, reply }, direct) {
          const { names, tasks } = yield* hub.as(account, (calls) =>
            Effect.all({
              tasks: calls.tasks.list({ query: { limit: 10 } }),
              names: Effect.map(
                calls.projects.list({ query: { limit: 200 } }),
                ({ items }) => new Map(items.map(({ id, name }) => [id, name]))
              )
            })
          )
          const said = tasks.items.map((task, at) => {
            const title = direct ? titleOf(task) : ""
            const of = `${names.get(task.projectId) ?? "–"} · ${task.agentId} · ${timeOf(task)}`
            return numbered(at, title === "" ? of : `${of} · ${title}`, phrases.taskState(task.state))
          })
          yield* reply(said.length === 0 ? phrases.noTasks : lines(said))
        }),

        cancel: Effect.fnUntraced(function* (spot, speaker, which) {
          const open = yield* openHere(spot, speaker)
          const choice = chosen(open, which, { none: phrases.nothingHere, example: "cancel 1" })
          if ("words" in choice) return yield* speaker.reply(choice.words)
          const { taskId } = choice.item
          yield* hub.as(speaker.account, ({ tasks }) => tasks.cancel({ params: { id: taskId } }))
          yield* speaker.reply(phrases.cancelled)
        }),

        decide: Effect.fnUntraced(function* (spot, speaker, { decision, which }) {
          const waiting = yield* visible(speaker, yield* follows.pendingCards(inChat(spot, speaker)))
          const example = decision === "allow" ? "approve 1" : "deny 1"
          const choice = chosen(waiting, which, { none: phrases.nothingToDecide, example })
          if ("words" in choice) return yield* speaker.reply(choice.words)
          const told = yield* deciding.decide(speaker, choice.item, decision, Effect.void)
          yield* speaker.reply(told ?? phrases.decided(decision))
        }),

        use: Effect.fnUntraced(function* (spot, speaker, which) {
          const options = yield* places.of(speaker.account)
          if (options.length === 0) return yield* speaker.reply(phrases.noLocations)
          if (which === undefined) return yield* choice.show(spot, speaker, options, phrases.locationsTitle)
          const place = options[which - 1]
          if (place === undefined) return yield* speaker.reply(phrases.noSuchLocation)
          yield* work.useLocation(spot, speaker, place)
        }),

        agent: Effect.fnUntraced(function* (spot, { account, reply }, name) {
          const talk = yield* talks.get(spot.chatKey)
          const place = talk.place ?? (yield* places.of(account))[0]
          if (place === undefined) return yield* reply(phrases.noLocations)
          const agents = yield* places.agents(account, place)
          if (agents.length === 0) return yield* reply(phrases.noAgent)
          const wanted = agents.find(({ id }) => id === name?.toLowerCase() || id === name)
          if (wanted === undefined)
            return yield* reply(phrases.agentsAre(agents.map(({ id }) => id).join(", "), place.agentId))
          const moved = { ...place, agentId: wanted.id, names: { ...place.names, agent: wanted.label } }
          yield* talks.set(spot.chatKey, { ...talk, place: moved })
          if (spot.key !== spot.chatKey)
            yield* talks.set(spot.key, { ...(yield* talks.get(spot.key)), place: moved })
          yield* reply(phrases.agentIs(locationName(moved)))
        })
      })
    })
  )
}
