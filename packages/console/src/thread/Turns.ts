/**
 * Entries of a thread, from the messages of its session: notes, turns, and groups of candidates. A turn is the messages that one run received, and
 * its answer. A group is one message that several agents received, and the turn of each.
 *
 * Guarantees: each message that reached a run, each text of an agent and each note is in exactly one entry, in the order of the first message of each entry.
 * Does not: contain messages that wait, failed or were withdrawn. Pure.
 */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { GroupCandidate } from "@corral/domain/hub-api/TaskGroups"
import type { RunId, TaskGroupId } from "@corral/domain/identity/Ids"
import { confinementFailure } from "@corral/domain/run/ConfinementText"
import type { Message } from "@corral/domain/session/Message"

interface NoteEntry {
  readonly kind: "note"
  readonly key: string
  readonly message: Message
}

export interface TurnEntry {
  readonly kind: "turn"
  readonly key: string
  readonly runId: RunId
  /** Messages that the run received, oldest first. Empty if they are not loaded. */
  readonly prompts: ReadonlyArray<Message>
  /** Texts after which the run continued, oldest first. Its work contains them too. */
  readonly texts: ReadonlyArray<Message>
  /** Absent while the turn is in progress. */
  readonly answer: Message | undefined
}

export interface GroupEntry {
  readonly kind: "group"
  readonly key: string
  readonly groupId: TaskGroupId
  /** The first of the messages to the candidates. All have its text. */
  readonly prompt: Message
  /** Turns of the candidates that have started. */
  readonly turns: ReadonlyArray<TurnEntry>
}

export type ThreadEntry = NoteEntry | TurnEntry | GroupEntry

/** All turns, also those of candidates, in their order. */
export const turnsIn = (entries: ReadonlyArray<ThreadEntry>): ReadonlyArray<TurnEntry> =>
  entries.flatMap((entry) => (entry.kind === "turn" ? [entry] : entry.kind === "group" ? entry.turns : []))

/** Whether the message waits for its agent, or did not reach it. */
export const isQueued = ({ delivery }: Message): boolean =>
  delivery?.state === "pending" || delivery?.state === "failed"

/** The run that received or wrote the message. */
const runOf = ({ author, delivery, runId }: Message): RunId | undefined =>
  author.kind === "agent" ? runId : delivery?.state === "delivered" ? delivery.runId : undefined

const isNote = ({ author, delivery }: Message): boolean => author.kind === "user" && delivery === undefined

/** `messages` are oldest first. */
export const entriesOf = (messages: ReadonlyArray<Message>): ReadonlyArray<ThreadEntry> => {
  const entries: Array<ThreadEntry> = []
  /** By run or group. */
  const places = new Map<RunId | TaskGroupId, number>()
  for (const message of messages) {
    const { author, groupId } = message
    const runId = runOf(message)
    if (groupId !== undefined && author.kind === "user" && !places.has(groupId)) {
      places.set(groupId, entries.length)
      entries.push({ kind: "group", key: groupId, groupId, prompt: message, turns: [] })
    }
    if (runId === undefined) {
      if (isNote(message) && groupId === undefined) entries.push({ kind: "note", key: message.id, message })
      continue
    }
    const place = places.get(runId) ?? (groupId === undefined ? undefined : places.get(groupId))
    const found = place === undefined ? undefined : entries[place]
    if (place === undefined || found === undefined || found.kind === "note") {
      places.set(runId, entries.length)
      entries.push(withMessage(beginTurn(runId), message))
    } else {
      places.set(runId, place)
      entries[place] = found.kind === "turn" ? withMessage(found, message) : inGroup(found, runId, message)
    }
  }
  return entries
}

const beginTurn = (runId: RunId): TurnEntry => ({ kind: "turn", key: runId, runId, ...noMessages })

/** The group with the message in the turn of its run. */
const inGroup = (group: GroupEntry, runId: RunId, message: Message): GroupEntry => {
  const at = group.turns.findIndex((turn) => turn.runId === runId)
  const turn = withMessage(group.turns[at] ?? beginTurn(runId), message)
  return { ...group, turns: at === -1 ? [...group.turns, turn] : group.turns.with(at, turn) }
}

const noMessages = { prompts: [], texts: [], answer: undefined }

/** Whether the run continued after the text of its agent. */
const isOfTurn = ({ outcome, turn }: Message): boolean => turn !== undefined && outcome === undefined

const withMessage = (turn: TurnEntry, message: Message): TurnEntry => {
  if (message.author.kind !== "agent") return { ...turn, prompts: [...turn.prompts, message] }
  return isOfTurn(message) ? { ...turn, texts: [...turn.texts, message] } : { ...turn, answer: message }
}

/** The agent instance that answered the turn's messages, or receives them. */
export const agentOf = ({ answer, prompts, texts }: TurnEntry): Message["to"] => {
  const author = (answer ?? texts[0])?.author
  return author?.kind === "agent" ? author.agentInstanceId : prompts[0]?.to
}

/** The turn of a candidate. A fork of the session has the turns with the same runs and other agents. */
export const turnOfCandidate = (
  { turns }: Pick<GroupEntry, "turns">,
  { agentInstanceId, task }: Pick<GroupCandidate, "agentInstanceId" | "task">
): TurnEntry | undefined =>
  turns.find((turn) => agentOf(turn) === agentInstanceId || turn.runId === task.runId)

/** The turn of a run that has ended. Without a final text, the last one is the answer. */
export const endedTurn = (turn: TurnEntry): TurnEntry =>
  turn.answer === undefined && turn.texts.length > 0 ? { ...turn, answer: turn.texts.at(-1) } : turn

/** Runs of the turns that are not confined for a reason that an earlier turn of the thread says. */
export const repeatedReasons = (
  entries: ReadonlyArray<ThreadEntry>,
  runs: ReadonlyMap<HubRun["id"], HubRun>
): ReadonlySet<HubRun["id"]> => {
  const seen = new Set<string>()
  const repeated = new Set<HubRun["id"]>()
  for (const { runId } of turnsIn(entries)) {
    const run = runs.get(runId)
    const reason = run?.confinement && confinementFailure(run.confinement, run.mode)
    if (run === undefined || reason === undefined) continue
    if (seen.has(reason)) repeated.add(run.id)
    else seen.add(reason)
  }
  return repeated
}
