/** Most of this is checked by the compiler: `npm run types`. */
// @effect-diagnostics missingEffectError:off
import { assert, describe, it } from "@effect/vitest"
import { PermissionDenied } from "@corral/domain/errors/Failures"
import type { RequestId } from "@corral/domain/identity/Ids"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { Cause, Data, Effect, Exit } from "effect"
import { SqlError } from "effect/sql"
import { withErrorObjects } from "../../src/http/Handlers.ts"

class Uncoded extends Data.TaggedError("Uncoded")<{ readonly reason: string }> {}
class Miscoded extends Data.TaggedError("Miscoded")<{
  readonly code: "no_such_code"
  readonly message: string
}> {}

const statementFailed = new SqlError.SqlError({
  reason: new SqlError.UnknownError({ cause: "gone" })
})

describe("answered", () => {
  const run = <A, E>(self: Effect.Effect<A, E, CurrentRequestId>) =>
    Effect.runPromiseExit(Effect.provideService(self, CurrentRequestId, "req-1" as RequestId))

  it("compiles for failures with a code and failed statements only", () => {
    const accepted = [
      withErrorObjects(Effect.succeed(1)),
      withErrorObjects(Effect.fail(new PermissionDenied())),
      withErrorObjects(Effect.fail(statementFailed))
    ]
    const refused = [
      // @ts-expect-error: a failure without a code has no status.
      withErrorObjects(Effect.fail(new Uncoded({ reason: "x" }))),
      // @ts-expect-error: neither has one with a code that is not in the table.
      withErrorObjects(Effect.fail(new Miscoded({ code: "no_such_code", message: "x" }))),
      // @ts-expect-error: one among others is enough.
      withErrorObjects(Effect.fail<PermissionDenied | Uncoded>(new PermissionDenied()))
    ]
    assert.lengthOf([...accepted, ...refused], 6)
  })

  it("makes an error object of a failure, and a defect of a failed statement", async () => {
    const denied = await run(withErrorObjects(Effect.fail(new PermissionDenied())))
    assert.deepInclude(Exit.isFailure(denied) ? Cause.squash(denied.cause) : {}, {
      code: "permission_denied",
      requestId: "req-1"
    })
    const broken = await run(withErrorObjects(Effect.fail(statementFailed)))
    assert.isTrue(Exit.isFailure(broken) && Cause.hasDies(broken.cause))
  })
})
