/**
 * Change sets over the link: the Hub's reads and decisions, and the push of sets that have changed.
 *
 * Guarantees: a decision is made once per command. A set is pushed until the Hub has acknowledged its newest state, one at a time, so that no state
 * replaces a later one. A set that the Hub refuses is not pushed again until it changes.
 */
import type { ChangeSet, DecidedChanges } from "@corral/domain/edge-api/ChangeSet"
import { type Failure, MergeConflict } from "@corral/domain/errors/Failures"
import type { ChangeSetId, RunId } from "@corral/domain/identity/Ids"
import type { CommandPayload, CommandSuccess, EdgeCommand } from "@corral/domain/link/EdgeCommand"
import { addedCalls, MAX_FRAME_BYTES } from "@corral/domain/link/EdgeLink"
import { Cause, Effect, Latch } from "effect"
import { type UnsentSet, markSent, unsentSets } from "../change/ChangePushes.ts"
import { Changes } from "../change/Changes.ts"
import type { EdgeIdempotency, ResultRows } from "../log/EdgeIdempotency.ts"
import { Store } from "../store/Store.ts"
import type { ProvenLink } from "./EventPush.ts"
import { brokenLink } from "./LinkSocket.ts"

/** Maximum size of an answer, in bytes of JSON. */
const MAX_PAGE_BYTES = MAX_FRAME_BYTES / 4

/** A page that fits in an answer: with fewer items if they are large, and with at least one. */
const fittingPage = Effect.fnUntraced(function* <A, E>(
  limit: number,
  read: (limit: number) => Effect.Effect<A, E>
) {
  let size = limit
  for (;;) {
    const page = yield* read(size)
    const bytes = Buffer.byteLength(JSON.stringify(page))
    if (size === 1 || bytes <= MAX_PAGE_BYTES) return page
    // As many as fit if all are equally large.
    size = Math.max(1, Math.min(size - 1, Math.floor((size * MAX_PAGE_BYTES) / bytes)))
  }
})

const readChanges = Effect.fn("HubChanges.readChanges")(function* (
  changes: Changes["Service"],
  { after, limit, runId }: CommandPayload<"ReadChanges">
): Effect.fn.Return<CommandSuccess<"ReadChanges">, Failure> {
  const { items, next, set } = yield* fittingPage(limit, (size) =>
    Effect.map(changes.read(runId, after, size), (page) => ({ ...page, set: boundedSet(page.set) }))
  )
  return { set, items, next: next ?? null }
})

const readChangedFile = Effect.fn("HubChanges.readChangedFile")(function* (
  changes: Changes["Service"],
  { after: position, context, fileId, limit, runId }: CommandPayload<"ReadChangedFile">
): Effect.fn.Return<CommandSuccess<"ReadChangedFile">, Failure> {
  const options = { position, ...(context === undefined ? {} : { context }) }
  const { next, ...page } = yield* fittingPage(limit, (size) =>
    changes.readFile(runId, fileId, { ...options, limit: size })
  )
  return { ...page, next: next ?? null }
})

interface Deciding {
  readonly changes: Changes["Service"]
  readonly idempotency: EdgeIdempotency["Service"]
}

/** The command's receipt is stored with the decision: a repeated command finds it. A Hub sends an origin with each decision. */
const decideChanges = Effect.fnUntraced(function* (
  { changes, idempotency }: Deciding,
  command: Extract<EdgeCommand, { readonly name: "DecideChanges" | "UndoChanges" }>
): Effect.fn.Return<DecidedChanges, Failure> {
  const { commandId, payload } = command
  const { by, origin = "console", runId } = payload
  const decider = { by, origin }
  const write = (keep: ResultRows<DecidedChanges>): Effect.Effect<DecidedChanges, Failure> => {
    if (command.name === "UndoChanges") return changes.undo(runId, command.payload.request, decider, keep)
    const { kind, request } = command.payload
    const { comment, comments, edits, parts } = request
    return kind === "accept"
      ? changes.accept(runId, { parts, ...(edits === undefined ? {} : { edits }) }, decider, keep)
      : changes.reject(
          runId,
          {
            parts,
            ...(comment === undefined ? {} : { comment }),
            ...(comments === undefined ? {} : { comments })
          },
          decider,
          keep
        )
  }
  const request = { scope: "hub", key: commandId, request: payload }
  const { body } = yield* Effect.mapError(idempotency.once(request, write), boundedConflict)
  return { ...body, set: boundedSet(body.set) }
})

type ChangesCommand = Extract<
  EdgeCommand,
  { readonly name: "ReadChanges" | "ReadChangedFile" | "DecideChanges" | "UndoChanges" }
>

export const executeOnChanges = (
  services: Deciding,
  command: ChangesCommand
): Effect.Effect<CommandSuccess<ChangesCommand["name"]>, Failure> => {
  switch (command.name) {
    case "ReadChanges":
      return readChanges(services.changes, command.payload)
    case "ReadChangedFile":
      return readChangedFile(services.changes, command.payload)
    case "DecideChanges":
    case "UndoChanges":
      return decideChanges(services, command)
  }
}

/** Characters of the files of a set's decisions that are sent, and as many of the rejected parts. */
const MAX_DECIDED_CHARACTERS = 524_288

/** The set with the files and the rejected parts of its newest decisions, each up to a size. */
const boundedSet = (set: ChangeSet): ChangeSet => {
  let [forFiles, forParts] = [MAX_DECIDED_CHARACTERS, MAX_DECIDED_CHARACTERS]
  const decisions = set.decisions.map(({ files, rejected, ...rest }) => {
    forFiles -= JSON.stringify(files).length
    forParts -= JSON.stringify(rejected ?? []).length
    return {
      ...rest,
      files: forFiles >= 0 ? files : [],
      ...(rejected === undefined || forParts < 0 ? {} : { rejected })
    }
  })
  return { ...set, decisions }
}

/** Files in conflict that fit in an answer. Each has up to three versions of 64 KiB. */
const MAX_CONFLICTS = 20

const boundedConflict = <E>(failure: E): E | MergeConflict => {
  if (!(failure instanceof MergeConflict)) return failure
  const { details, message } = failure
  const files = details?.["files"]
  return Array.isArray(files) && files.length > MAX_CONFLICTS
    ? new MergeConflict({ message, details: { ...details, files: files.slice(0, MAX_CONFLICTS) } })
    : failure
}

/** Whether a Hub that names these calls accepts change sets. */
export const acceptsChanges = (calls: ReadonlyArray<string> | undefined): boolean =>
  calls?.includes(addedCalls[0]) === true

/** Sets per query of the queue. */
const SETS = 50

/** Never succeeds; fails when the link fails. */
export const pushChanges = (link: ProvenLink) =>
  Effect.gen(function* () {
    const changes = yield* Changes
    const store = yield* Store
    const more = Latch.makeUnsafe(false)
    /** Sets that could not be read over this link. */
    const unreadable = new Set<string>()
    yield* Effect.acquireRelease(
      Effect.sync(() => changes.follow(() => void more.openUnsafe())),
      (unfollow) => Effect.sync(unfollow)
    )
    for (;;) {
      // Before the look at the queue: a set that changes meanwhile opens it again.
      more.closeUnsafe()
      const due = unsentSets(store, link.deviceId, SETS + unreadable.size)
      const readable = due.filter((unsent) => !unreadable.has(keyOf(unsent)))
      if (readable.length === 0) yield* more.await
      for (const unsent of readable)
        if (!(yield* pushSet(link, changes, store, unsent))) unreadable.add(keyOf(unsent))
    }
  }).pipe(Effect.scoped)

const keyOf = ({ serial, setId }: UnsentSet): string => `${setId} ${serial}`

/** Returns whether the set could be read. */
const pushSet = Effect.fnUntraced(function* (
  { acknowledgeMs, calls, generation, onUse }: ProvenLink,
  changes: Changes["Service"],
  store: Store["Service"],
  { runId, serial, setId }: UnsentSet
) {
  const set = yield* changes.summary(runId).pipe(
    // Nothing of it can be shown or decided.
    Effect.catch(() => Effect.undefined),
    Effect.catchCause((cause) =>
      Effect.as(
        Effect.logError("failed to read a change set", { setId }, Cause.squash(cause)),
        "damaged" as const
      )
    )
  )
  if (set === "damaged") return false
  if (set !== undefined) {
    const pushed = { id: set.id, set: JSON.stringify(boundedSet(set)) }
    const [ack] = yield* Effect.timeoutOrElse(calls.PushChanges({ generation, sets: [pushed] }), {
      duration: acknowledgeMs,
      orElse: () => brokenLink("the Hub does not acknowledge change sets")
    })
    onUse()
    if (ack?.refused !== undefined) yield* logRefusal(setId, runId, ack.refused)
  }
  // If this write fails, the next link pushes the set again.
  yield* Effect.ignore(store.commit([markSent(setId, serial)]), { log: true })
  return true
})

const logRefusal = (setId: ChangeSetId, runId: RunId, reason: string) =>
  Effect.logWarning("the Hub refused a change set", { setId, runId, reason })
