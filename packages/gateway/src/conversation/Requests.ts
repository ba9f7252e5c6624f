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
import { Deciding } from "./Deciding.ts"
import * as phrases from "./Phrases.ts"
import { PlaceChoice } from "./PlaceChoice.ts"
import { placeName, Places } from "./Places.ts"
import type { Speaker } from "./Speaker.ts"
import { type Spot, Talks } from "./Talks.ts"
import { Work } from "./Work.ts"

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

export class Requests extends Context.Service<
  Requests,
  {
    readonly status: (spot: Spot, speaker: Speaker) => Effect.Effect<void, Failed>
    /** `direct`: no other person reads the answer, so tasks are named by how they begin. */
    readonly list: (speaker: Speaker, direct: boolean) => Effect.Effect<void, Failed>
    readonly cancel: (spot: Spot, speaker: Speaker, which: number | undefined) => Effect.Effect<void, Failed>
    readonly decide: (
      spot: Spot,
      speaker: Speaker,
      command: Extract<Command, { readonly _tag: "Decide" }>
    ) => Effect.Effect<void, Failed>
    readonly use: (spot: Spot, speaker: Speaker, which: number | undefined) => Effect.Effect<void, Failed>
    readonly agent: (spot: Spot, speaker: Speaker, name: string | undefined) => Effect.Effect<void, Failed>
  }
>()("corral/gateway/Requests") {
  static readonly layer = Layer.effect(
    Requests,
    Effect.gen(function* () {
      const choice = yield* PlaceChoice
      const deciding = yield* Deciding
      const follows = yield* Follows
      const hub = yield* Hub
      const places = yield* Places
      const talks = yield* Talks
      const work = yield* Work
      const inChat = ({ chatId }: Spot, { account }: Speaker) => ({ ...account, chatId })

      /** Those of its tasks that the Hub shows to this person now: a chat is read by people who are not in the project. */
      const visible = <A extends { readonly taskId: TaskId }>(
        { account }: Speaker,
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
      const openHere = (spot: Spot, speaker: Speaker) =>
        Effect.flatMap(follows.open(inChat(spot, speaker)), (open) => visible(speaker, open))

      return Requests.of({
        status: Effect.fnUntraced(function* (spot, speaker) {
          const open = yield* openHere(spot, speaker)
          const said = open.map(({ place, progress }, at) => numbered(at, place, phaseWords(progress)))
          yield* speaker.say(said.length === 0 ? phrases.nothingHere : lines(said))
        }),

        list: Effect.fnUntraced(function* ({ account, say }, direct) {
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
          yield* say(said.length === 0 ? phrases.noTasks : lines(said))
        }),

        cancel: Effect.fnUntraced(function* (spot, speaker, which) {
          const open = yield* openHere(spot, speaker)
          const choice = chosen(open, which, { none: phrases.nothingHere, example: "cancel 1" })
          if ("words" in choice) return yield* speaker.say(choice.words)
          const { taskId } = choice.item
          yield* hub.as(speaker.account, ({ tasks }) => tasks.cancel({ params: { id: taskId } }))
          yield* speaker.say(phrases.cancelled)
        }),

        decide: Effect.fnUntraced(function* (spot, speaker, { decision, which }) {
          const waiting = yield* visible(speaker, yield* follows.waiting(inChat(spot, speaker)))
          const example = decision === "allow" ? "approve 1" : "deny 1"
          const choice = chosen(waiting, which, { none: phrases.nothingToDecide, example })
          if ("words" in choice) return yield* speaker.say(choice.words)
          const told = yield* deciding.decide(speaker, choice.item, decision, Effect.void)
          yield* speaker.say(told ?? phrases.decided(decision))
        }),

        use: Effect.fnUntraced(function* (spot, speaker, which) {
          const options = yield* places.of(speaker.account)
          if (options.length === 0) return yield* speaker.say(phrases.nowhere)
          if (which === undefined) return yield* choice.show(spot, speaker, options, phrases.placesTitle)
          const place = options[which - 1]
          if (place === undefined) return yield* speaker.say(phrases.noSuchPlace)
          yield* work.use(spot, speaker, place)
        }),

        agent: Effect.fnUntraced(function* (spot, { account, say }, name) {
          const talk = yield* talks.get(spot.base)
          const place = talk.place ?? (yield* places.of(account))[0]
          if (place === undefined) return yield* say(phrases.nowhere)
          const agents = yield* places.agents(account, place)
          if (agents.length === 0) return yield* say(phrases.noAgent)
          const wanted = agents.find(({ id }) => id === name?.toLowerCase() || id === name)
          if (wanted === undefined)
            return yield* say(phrases.agentsAre(agents.map(({ id }) => id).join(", "), place.agentId))
          const moved = { ...place, agentId: wanted.id, names: { ...place.names, agent: wanted.label } }
          yield* talks.set(spot.base, { ...talk, place: moved })
          if (spot.talk !== spot.base)
            yield* talks.set(spot.talk, { ...(yield* talks.get(spot.talk)), place: moved })
          yield* say(phrases.agentIs(placeName(moved)))
        })
      })
    })
  )
}
