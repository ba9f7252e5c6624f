/**
 * The runs of one chat, in order: reads the newest and the older ones, and follows the run in progress to its end, then each run after it.
 *
 * Guarantees: each event is folded once. Only one run is followed at a time. A run that begins during a call of `withHeld` is followed after the call.
 * Does not: have the state of the chat, which receives actions.
 */
import type { Failure } from "@corral/domain/errors/Failures"
import type { RunId } from "@corral/domain/identity/Ids"
import { Effect, type Fiber, Queue, Stream } from "effect"
import { type NestedChatAction, remember } from "../fold/CallFold.ts"
import { hasEnded, RunFold } from "../fold/RunFold.ts"
import type { ChatAction } from "../protocol/Actions.ts"
import { nestedChatAddress } from "../protocol/Addresses.ts"
import type { ChatPlace, HostRun } from "./HostBackend.ts"
import type { HostClient } from "./HostClient.ts"
import type { PlacedSession } from "./SessionViews.ts"

/** Runs that are read at a time, in a snapshot and in each older page. */
const PAGE = 5
/** Runs of a snapshot. */
const MAX_RUNS = 20
/** Events of a snapshot, after which no further page of runs is read. */
const MAX_EVENTS = 20_000
/** Runs that are read at a time to find those after the last one. */
const NEW_RUNS = 50
/** Turns that the client has begun, by their runs. */
const MAX_KEYS = 1_000

/** The chat whose runs are followed. */
export interface FollowedChat {
  /** An agent of a draft has its id later. */
  readonly place: ChatPlace
  readonly placed: PlacedSession
  /** Id that the client has for the turn of a message with this text. */
  readonly turnIdOf: (text: string) => string | undefined
  /** Takes an action of the run that is followed. */
  readonly takeAction: (action: ChatAction) => void
  /** Takes an action on the chat of a sub-agent, of any run that is read. */
  readonly takeNestedAction: (action: NestedChatAction) => void
}

export class RunFollower {
  /** The fold of the run in progress, or of the last one. */
  fold: RunFold | undefined
  /** The run in progress, or the last one. */
  run: RunId | undefined
  private readonly client: HostClient
  private readonly chat: FollowedChat
  private readonly woken = Effect.runSync(Queue.sliding<void>(1))
  /** Wakes what looks after a run without events. */
  private readonly look = Effect.runSync(Queue.sliding<void>(1))
  /** Turns that the client has begun, by the run that has them. */
  private readonly keys = new Map<RunId, string>()
  /** Calls in progress whose turns are not known yet. */
  private holds = 0
  private fiber: Fiber.Fiber<unknown, unknown> | undefined
  private olderCursor: string | null = null

  constructor(client: HostClient, chat: FollowedChat) {
    this.client = client
    this.chat = chat
  }

  /** Follows from the last run that was read. A chat of a draft has no runs yet. */
  start(): void {
    this.fiber ??= this.client.run(
      Effect.forever(
        Effect.andThen(
          Effect.matchEffect(this.followNew, {
            onSuccess: () => Effect.void,
            onFailure: ({ message }) => Effect.logWarning("failed to follow a chat of an editor", { message })
          }),
          Queue.take(this.woken)
        )
      )
    )
  }

  /** Looks for changes of the chat's runs. */
  wake(): void {
    Queue.offerUnsafe(this.woken, undefined)
    if (this.fold?.lastSeq === 0) Queue.offerUnsafe(this.look, undefined)
  }

  stop(): void {
    this.fiber?.interruptUnsafe()
  }

  /** Runs a call that begins a turn. A run that begins meanwhile waits until its turn is known. */
  withHeld<A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      this.holds++
      return call
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          this.holds--
          Queue.offerUnsafe(this.woken, undefined)
        })
      )
    )
  }

  /** Gives the first turn of a run the id that the client has for it. The first turn of a run that has begun has an id already. */
  nameTurn(run: RunId, turnId: string): void {
    if (run !== this.run) remember(this.keys, run, turnId, MAX_KEYS)
  }

  /** Reads the newest runs, as far as their events are not too many to read at once. Returns the cursor of older ones. */
  readonly readNewest = Effect.fnUntraced(function* (
    this: RunFollower,
    onAction: (action: ChatAction) => void
  ) {
    const first = yield* this.page(PAGE)
    let runs = first.items
    let cursor = first.nextCursor
    const hasRoom = () =>
      runs.length < MAX_RUNS && runs.reduce((sum, { lastSeq }) => sum + lastSeq, 0) < MAX_EVENTS
    while (cursor !== null && hasRoom()) {
      const { items, nextCursor } = yield* this.page(PAGE, cursor)
      runs = [...runs, ...items]
      cursor = nextCursor
    }
    this.olderCursor = cursor
    for (const run of runs.toReversed()) {
      const fold = this.foldOf(run)
      this.fold = fold
      this.run = run.id
      yield* this.readRun(run, fold, onAction)
    }
    return cursor
  })

  /** Reads the ended runs of the next older page. Returns the cursor of those before them. */
  readonly readOlder = Effect.fnUntraced(function* (
    this: RunFollower,
    onAction: (action: ChatAction) => void
  ) {
    const cursor = this.olderCursor
    if (cursor === null) return null
    const { items, nextCursor } = yield* this.page(PAGE, cursor)
    for (const run of items.toReversed())
      if (hasEnded(run)) yield* this.readRun(run, this.foldOf(run), onAction)
    this.olderCursor = nextCursor
    return nextCursor
  })

  private page(limit: number, cursor?: string) {
    const place = { ...this.chat.place, limit }
    return this.client.backend.runs(cursor === undefined ? place : { ...place, cursor })
  }

  private foldOf(run: HostRun): RunFold {
    const { people } = this.chat.placed.session
    return new RunFold({
      runId: run.id,
      turnKey: run.key ?? this.keys.get(run.id),
      keyOfTurn: (text) => this.chat.turnIdOf(text),
      nestedChatAddress: (toolCallId) => nestedChatAddress(this.chat.placed.address, toolCallId),
      model: run.model,
      modes: this.client.agents.find(({ id }) => id === run.agentId)?.modes ?? [],
      nameOf: (user) => people.get(user) ?? this.chat.placed.session.people.get(user) ?? user
    })
  }

  /** Folds what a run has so far. */
  private readRun(
    run: HostRun,
    fold: RunFold,
    onAction: (action: ChatAction) => void
  ): Effect.Effect<void, Failure> {
    if (run.lastSeq > 0) return this.foldEvents(run.id, fold, onAction, () => fold.lastSeq >= run.lastSeq)
    return Effect.sync(() => fold.endUnanswered(run).forEach(onAction))
  }

  /** Folds the events of a run, to its end or to where it is enough. */
  private foldEvents(
    run: RunId,
    fold: RunFold,
    onAction: (action: ChatAction) => void,
    isEnough: () => boolean
  ): Effect.Effect<void, Failure> {
    return this.client.backend.events(run, fold.lastSeq).pipe(
      Stream.map((event) => {
        for (const action of fold.apply(event)) onAction(action)
        for (const nested of fold.takeNestedActions()) this.chat.takeNestedAction(nested)
        return fold.hasEnded || isEnough()
      }),
      Stream.takeUntil((isDone) => isDone),
      Stream.runDrain
    )
  }

  /** Follows the run in progress to its end, then each run after it. */
  private readonly followNew: Effect.Effect<void, Failure> = Effect.suspend(() =>
    Effect.gen({ self: this }, function* () {
      if (this.run !== undefined && this.fold?.hasEnded === false) {
        // It can have ended since it was read.
        Queue.offerUnsafe(this.look, undefined)
        yield* this.followRun(this.run, this.fold)
      }
      for (;;) {
        if (this.holds > 0) return
        const { items } = yield* this.page(NEW_RUNS)
        const at = items.findIndex(({ id }) => id === this.run)
        const newer = (
          at < 0 && this.run !== undefined ? items.slice(0, 1) : items.slice(0, at < 0 ? NEW_RUNS : at)
        )
          .toReversed()
          .filter(({ id }) => id !== this.run)
        const next = this.answeredLate(items) ?? newer[0]
        if (next === undefined || this.holds > 0) return
        const fold = this.foldOf(next)
        this.fold = fold
        this.run = next.id
        fold.endUnanswered(next).forEach((action) => this.chat.takeAction(action))
        if (!fold.hasEnded) yield* this.followRun(next.id, fold)
      }
    })
  )

  /** The last run, if it has events after its end without them: they are another turn. */
  private answeredLate(runs: ReadonlyArray<HostRun>): HostRun | undefined {
    const run = this.fold?.lastSeq === 0 ? runs.find(({ id }) => id === this.run) : undefined
    return run === undefined || run.lastSeq === 0 ? undefined : { ...run, key: `${run.id}.late` }
  }

  /** Ends with a run that the service has ended without an event of it. The stream of its events stays open. */
  private readonly unanswered = Effect.fnUntraced(function* (this: RunFollower, id: RunId, fold: RunFold) {
    while (!fold.hasEnded) {
      yield* Queue.take(this.look)
      if (fold.lastSeq > 0) continue
      const run = (yield* this.page(NEW_RUNS)).items.find((each) => each.id === id)
      if (run !== undefined) fold.endUnanswered(run).forEach((action) => this.chat.takeAction(action))
    }
  })

  private followRun(run: RunId, fold: RunFold): Effect.Effect<void, Failure> {
    return this.foldEvents(
      run,
      fold,
      (action) => this.chat.takeAction(action),
      () => false
    ).pipe(Effect.raceFirst(this.unanswered(run, fold)))
  }
}
