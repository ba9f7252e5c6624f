/**
 * Random mixes of people, chats, cards and failures, in virtual time: the store is real, the clock is a number that the test moves, and
 * the Gateways are loops that claim, end, retry, give up or die. Every run of a seed is the same.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { effort } from "@corral/testing/time/Effort"
import { GatewayConfig, gatewayDefaults } from "../../src/GatewayConfig.ts"
import { deadlineOf, nextAttempt, PATIENCE_MS } from "../../src/handling/Workers.ts"
import { Inbox } from "../../src/inbox/Inbox.ts"
import {
  CARD_WAIT_MS,
  type ClaimedEvent,
  QUEUE_LEASE_MS,
  SenderQueues
} from "../../src/inbox/SenderQueues.ts"
import * as Database from "../../src/store/Database.ts"

/** What handling an event comes to. `outage`: fails while the person is affected. `crash`: its Gateway dies, once. */
type Fate = "done" | "slow" | "outage" | "limited" | "refused" | "crash"

interface Planned {
  readonly person: number
  readonly chat: number
  /** A click on this card of the chat, or a message. */
  readonly card: number | undefined
  readonly fate: Fate
}

const PEOPLE = 6
const planned: fc.Arbitrary<ReadonlyArray<Planned>> = fc.array(
  fc.record({
    person: fc.nat(PEOPLE - 1),
    chat: fc.nat(1),
    card: fc.option(fc.nat(1), { nil: undefined }),
    fate: fc.constantFrom<Fate>("done", "done", "done", "slow", "outage", "limited", "refused", "crash")
  }),
  { minLength: 1, maxLength: 40 }
)
/** People whose events never fail. Overrides their planned outcomes. */
const healthy = fc.uniqueArray(fc.nat(PEOPLE - 1), { maxLength: PEOPLE })

/** Each takes some hundred statements. */
const RUNS = 15
const STEP_MS = 50
const LIMITS = { free: 4, perChat: 3 }

interface Handled {
  readonly event: number
  readonly at: number
  readonly outcome: "done" | "gave up"
}

const world = Effect.fnUntraced(function* (
  plan: ReadonlyArray<Planned>,
  unaffected: ReadonlySet<number>,
  virtual: { now: number }
) {
  const inbox = yield* Inbox
  const queues = yield* SenderQueues
  const started: Array<{ readonly event: number; readonly at: number; readonly attempt: number }> = []
  const ended: Array<Handled> = []
  const crashed = new Set<number>()
  const fateOf = (event: number): Fate => {
    const { fate = "done", person = 0 } = plan[event] ?? {}
    if (!unaffected.has(person)) return fate
    return fate === "slow" || fate === "crash" ? fate : "done"
  }
  const indexOf = ({ inbound }: ClaimedEvent) => Number(inbound.upstreamId.slice(3))
  let generation = 0
  const inProgress = new Map<string, ReadonlyArray<ClaimedEvent>>()

  const end = Effect.fnUntraced(function* (owner: string, event: ClaimedEvent, beganAt: number) {
    const index = indexOf(event)
    const fate = fateOf(index)
    if (fate === "outage" || fate === "limited") {
      const deadline = deadlineOf(event, beganAt)
      const next = nextAttempt(event.failures, virtual.now, deadline, fate === "limited" ? 10_000 : 0)
      if (next !== undefined) return yield* queues.retry(owner, event, next)
      ended.push({ event: index, at: virtual.now, outcome: "gave up" })
      return yield* queues.giveUp(owner, event, { reason: "planned", isPassing: true })
    }
    ended.push({ event: index, at: virtual.now, outcome: fate === "refused" ? "gave up" : "done" })
    return yield* fate === "refused"
      ? queues.giveUp(owner, event, { reason: "planned", isPassing: false })
      : queues.complete(owner, event)
  })

  const step = Effect.gen(function* () {
    const owner = `gateway-${generation}`
    const held = inProgress.get(owner) ?? []
    const free = LIMITS.free - held.length
    const claimed = free <= 0 ? [] : yield* queues.claim(owner, { ...LIMITS, free })
    for (const event of claimed)
      started.push({ event: indexOf(event), at: virtual.now, attempt: event.attempts })
    const all = [...held, ...claimed]
    const died = all.find((event) => fateOf(indexOf(event)) === "crash" && !crashed.has(indexOf(event)))
    if (died !== undefined) {
      // kill -9: nothing of this Gateway's is ended, and its leases run out.
      crashed.add(indexOf(died))
      generation += 1
      return
    }
    const left: Array<ClaimedEvent> = []
    for (const event of all) {
      const beganAt = started.findLast((each) => each.event === indexOf(event))?.at ?? virtual.now
      const slow = fateOf(indexOf(event)) === "slow" && virtual.now - beganAt < 2 * STEP_MS
      if (slow) left.push(event)
      else yield* end(owner, event, beganAt)
    }
    inProgress.set(owner, left)
  })

  for (const [at, { card, chat, person }] of plan.entries()) {
    yield* inbox.store({
      platform: "feishu",
      app: "cli_1",
      tenant: "t_1",
      upstreamId: `ev_${at}`,
      kind: card === undefined ? "message" : "card_action",
      chatId: `oc_${chat}`,
      senderId: `ou_${person}`,
      cardId: card === undefined ? "" : `om_${card}`,
      body: "{}",
      receivedAt: virtual.now
    })
    virtual.now += 1
    if (at % 3 === 0) yield* step
  }
  const keptAt = virtual.now
  // Steps while anything is ready; otherwise time passes, as it does while everything waits for a retry or a lease.
  for (let steps = 0; ended.length < plan.length && steps < 4_000; steps++) {
    const before = started.length + ended.length
    yield* step
    virtual.now += started.length + ended.length === before ? 1_000 : STEP_MS
  }
  return { started, ended, crashed, keptAt }
})

const check = (
  plan: ReadonlyArray<Planned>,
  unaffected: ReadonlySet<number>,
  { crashed, ended, keptAt, started }: Effect.Success<ReturnType<typeof world>>
) => {
  // Nothing is lost, and nothing ends twice.
  assert.deepStrictEqual(
    ended.map(({ event }) => event).toSorted((a, b) => a - b),
    plan.map((_, at) => at)
  )
  const order = new Map(ended.map(({ event }, at) => [event, at]))
  const place = (event: number) => order.get(event) ?? -1
  for (const [at, each] of plan.entries())
    for (const [later, other] of plan.entries())
      if (at < later && each.person === other.person) assert.isBelow(place(at), place(later))
  // No event of an unaffected person is given up, or waits for what fails elsewhere: only for leases of Gateways that died.
  const longest = (crashed.size + 1) * (QUEUE_LEASE_MS + 1_000) + plan.length * (4 * STEP_MS + CARD_WAIT_MS)
  for (const { at, event, outcome } of ended)
    if (unaffected.has(plan[event]?.person ?? -1)) {
      assert.strictEqual(outcome, "done")
      assert.isAtMost(at - keptAt, longest, `event ${event}`)
    }
  // Clicks on one card that no failure, crash or earlier event of their sender holds up start in their order.
  const first = (event: number) => started.findIndex((each) => each.event === event)
  if (crashed.size === 0) {
    const onlyOne = (event: number) =>
      plan.every((each, at) => at === event || each.person !== plan[event]?.person)
    for (const [at, each] of plan.entries())
      for (const [later, other] of plan.entries()) {
        const sameCard = each.card !== undefined && each.card === other.card && each.chat === other.chat
        if (at < later && sameCard && onlyOne(at) && onlyOne(later)) assert.isBelow(first(at), first(later))
      }
  }
  // A given-up event was given up within two minutes of when its person began to fail.
  for (const { at, event, outcome } of ended) {
    if (outcome !== "gave up") continue
    const begin = started.find((each) => each.event === event)?.at ?? 0
    assert.isAtMost(at - begin, PATIENCE_MS + (crashed.size + 1) * (QUEUE_LEASE_MS + 1_000))
  }
}

describe("SenderQueues", () => {
  it("isolates senders, keeps their order and their cards' order, and loses nothing", async () => {
    const url = await makeDatabase(await sharedServer(), { prepared: false })
    const virtual = { now: 1_790_000_000_000 }
    const real = await Effect.runPromise(Clock.Clock)
    const clock: Clock.Clock = Object.assign(Object.create(real), {
      currentTimeMillisUnsafe: () => virtual.now,
      currentTimeMillis: Effect.sync(() => virtual.now)
    })
    const config = { ...gatewayDefaults, databaseUrl: Redacted.make(url) }
    const layer = Layer.provideMerge(Inbox.layer, SenderQueues.layer).pipe(
      Layer.provideMerge(Database.gatewayDatabaseLayer),
      Layer.provide(Layer.succeed(GatewayConfig, config))
    )
    const once = (plan: ReadonlyArray<Planned>, unaffected: ReadonlySet<number>) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`TRUNCATE inbox, chats, sender_queues, dead_letters`
        check(plan, unaffected, yield* world(plan, unaffected, virtual))
      })
    try {
      await Effect.runPromise(
        Effect.scoped(
          Effect.gen(function* () {
            const services = yield* Layer.build(layer)
            yield* Effect.promise(() =>
              fc.assert(
                fc.asyncProperty(planned, healthy, (plan, people) =>
                  Effect.runPromiseWith(services)(once(plan, new Set(people)))
                ),
                { numRuns: RUNS * effort }
              )
            )
          }).pipe(Effect.provideService(Clock.Clock, clock))
        )
      )
    } finally {
      await dropDatabase(url)
    }
  })
})
