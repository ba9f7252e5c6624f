import type { Coded, ErrorCode } from "@corral/domain/errors/ErrorTable"
import { Conflict } from "@corral/domain/errors/Failures"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import type { RequestId } from "@corral/domain/identity/Ids"
import type { hubCoreLayer } from "@corral/hub/Hub"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { effort } from "@corral/testing/time/Effort"
import { until } from "@corral/testing/time/Until"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { answerUnanswered } from "@corral/service/http/Unanswered"
import { Cause, Effect, Exit, type Layer, Logger, Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import { SqlClient, type SqlError } from "effect/sql"
import * as fc from "fast-check"
import { randomUUID } from "node:crypto"
import { Audit } from "../../src/audit/Audit.ts"
import { HubIdempotency } from "../../src/HubIdempotency.ts"
import { storeRefusal } from "../../src/http/Handlers.ts"
import { execute } from "../harness/RepeatedRows.ts"

type Core = Layer.Success<typeof hubCoreLayer>
type HandlerFailure = Coded<ErrorCode> | SqlError.SqlError

/** A handler passes on failed statements as defects. */
const asDefect = (reason: Cause.Reason<unknown>): Cause.Reason<never> =>
  Cause.isFailReason(reason) ? Cause.makeDieReason(reason.error) : reason

/** Code of the response to a request that ends so. */
const codeOfCause = async (cause: Cause.Cause<unknown>): Promise<unknown> => {
  const request = HttpServerRequest.fromWeb(
    new Request("http://hub/client/sessions", { headers: { "x-request-id": "req-cause" } })
  )
  const response = await Effect.runPromise(
    answerUnanswered(
      HubApi,
      storeRefusal
    )(Cause.fromReasons(cause.reasons.map(asDefect))).pipe(
      Effect.provideService(HttpServerRequest.HttpServerRequest, request),
      Effect.provide(Logger.layer([]))
    )
  )
  const { body } = response
  assert(body._tag === "Uint8Array")
  return JSON.parse(new TextDecoder().decode(body.body)).code
}

/** States that say that the database can't do its work now: no fault of the Hub. */
const unavailable =
  "08000 08001 08003 08004 08006 08007 08P01 25006 25P03 25P04 40000 40001 40002 40003 40P01 53000 53100 53200 53300 53400 " +
  "55000 55006 55P02 55P03 55P04 57000 57014 57P01 57P02 57P03 57P04 57P05"
/** Faults of the Hub, such as statements in the wrong order. */
const faults =
  "25000 25001 25002 25003 25004 25005 25007 25008 25P01 25P02 22012 23502 23505 42P01 P0001 XX000"
const states: ReadonlyArray<readonly [string, boolean]> = [
  ...unavailable.split(" ").map((state) => [state, true] as const),
  ...faults.split(" ").map((state) => [state, false] as const)
]

describe("A statement that fails", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  const fail = (state: string) =>
    Effect.flatMap(SqlClient.SqlClient, (sql) =>
      sql.unsafe(`DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '${state}'; END $$`)
    )
  const inTransaction = <A, E, R>(work: Effect.Effect<A, E, R>) =>
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(work))
  const keyed = <A, E, R>(work: Effect.Effect<A, E, R>) =>
    Effect.flatMap(HubIdempotency, (idempotency) =>
      idempotency.runOnce(
        { scope: "test", key: randomUUID(), request: {}, response: Schema.Unknown },
        Effect.as(work, 1 as unknown)
      )
    )
  const audited = <A, E, R>(work: Effect.Effect<A, E, R>) =>
    Effect.flatMap(Audit, (audit) =>
      audit
        .performAs("system", { action: "sign_in.revoke", resource: "x", projectId: null }, work)
        .pipe(Effect.provideService(CurrentRequestId, "req-state" as RequestId))
    )
  /** Where a statement can fail. */
  const places: Readonly<Record<string, (state: string) => Effect.Effect<unknown, HandlerFailure, Core>>> = {
    alone: fail,
    "in a transaction": (state) => inTransaction(fail(state)),
    "in an inner transaction": (state) => inTransaction(inTransaction(fail(state))),
    "in an audited action": (state) => audited(fail(state)),
    "in a write with a key": (state) => keyed(fail(state)),
    "in an audited write with a key": (state) => keyed(audited(fail(state))),
    "after a refusal, in a write with a key": (state) =>
      keyed(Effect.tapError(inTransaction(Effect.fail(new Conflict({ message: "" }))), () => fail(state)))
  }

  const isOverloaded = (place: string, state: string): Promise<boolean> =>
    hub.people
      .act(
        Effect.map(Effect.exit(places[place]?.(state) ?? Effect.void), (exit) => {
          assert(Exit.isFailure(exit), `${place} ${state}`)
          return exit.cause
        })
      )
      .then(async (cause) => (await codeOfCause(cause)) === "overloaded")

  it.each(Object.keys(places))("is refused by its state, %s", async (place) => {
    for (const [state, expected] of states)
      assert.strictEqual(await isOverloaded(place, state), expected, state)
  })

  it("is refused as overloaded with any other state of those classes", () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom("08", "40", "53", "55", "57"),
        fc.stringMatching(/^[0-9A-Z]{3}$/),
        fc.constantFrom(...Object.keys(places)),
        async (kind, state, place) => assert.isTrue(await isOverloaded(place, `${kind}${state}`))
      ),
      { numRuns: 60 * effort }
    ))
})

describe("A transaction that PostgreSQL has ended", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  /** Code of the response to a request whose transaction continues after the end of its connection. */
  const codeAfter = async (
    end: (pid: unknown) => Promise<unknown>,
    limit = "0",
    rest: (sql: SqlClient.SqlClient) => Effect.Effect<unknown, HandlerFailure> = (sql) => sql`SELECT 1`
  ): Promise<unknown> => {
    const exit = await hub.people.act(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const ended = Effect.gen(function* () {
          const [row] = yield* sql<{ readonly pid: number }>`
            SELECT pg_backend_pid() AS pid, set_config('idle_in_transaction_session_timeout', ${limit}, true)`
          yield* Effect.promise(() => end(row?.pid))
          yield* rest(sql)
        })
        return yield* Effect.exit(sql.withTransaction(ended))
      })
    )
    assert(Exit.isFailure(exit))
    return codeOfCause(exit.cause)
  }
  const terminate = (pid: unknown) => execute(hub, `SELECT pg_terminate_backend(${String(pid)}, 5000)`)

  it("because its Hub was paused is refused as overloaded", async () => {
    const isGone = (pid: unknown) =>
      until(
        async () =>
          (await execute(hub, `SELECT 1 FROM pg_stat_activity WHERE pid = ${String(pid)}`)).length === 0 ||
          undefined,
        "the end of the connection"
      )
    assert.deepStrictEqual(await codeAfter(isGone, "50ms"), "overloaded")
  })

  it("because an operator ended its connection is refused as overloaded", async () => {
    assert.deepStrictEqual(await codeAfter(terminate), "overloaded")
  })

  it.each([
    ["a refusal", () => Effect.fail(new Conflict({ message: "" }))],
    ["a commit", () => Effect.void]
  ] as const)("is refused as overloaded before %s", async (_, rest) => {
    assert.deepStrictEqual(await codeAfter(terminate, "0", rest), "overloaded")
  })
})
