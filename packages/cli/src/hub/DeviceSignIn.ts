/** Sign-in from a terminal by the device flow of RFC 8628: the user opens a URL in any browser, compares a code and confirms. */
import { Clock, Effect, Redacted } from "effect"
import { CommandFailed, exitCodes, refused } from "../CommandFailed.ts"
import { Host } from "../terminal/Host.ts"
import { connectToHub } from "./HubClient.ts"
import { withProgress } from "../terminal/Progress.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

/** Added to the polling interval after a "rate limited" response. */
const SLOW_DOWN_SECONDS = 5

/** Waits for the user's confirmation. Returns the token of the new sign-in. */
export const issueSignIn = Effect.fnUntraced(function* (hub: string, clientName: string) {
  const host = yield* Host
  const calls = yield* connectToHub(hub)
  const started = yield* calls.signIn.deviceStart({ payload: { kind: "cli", clientName } })
  host.warn(
    `Open ${escapeLine(started.verificationUriComplete)}\nand check that it shows the code ${escapeLine(started.userCode)}\n`
  )
  const until = (yield* Clock.currentTimeMillis) + started.expiresInSeconds * 1_000
  let interval = started.intervalSeconds
  const answer = Effect.gen(function* () {
    while ((yield* Clock.currentTimeMillis) < until) {
      yield* Effect.sleep(interval * 1_000)
      const answer = yield* calls.signIn.deviceToken({ payload: { deviceCode: started.deviceCode } }).pipe(
        Effect.catchIf(
          ({ code }) => code === "rate_limited",
          () => Effect.succeed({ state: "pending" as const, intervalSeconds: interval + SLOW_DOWN_SECONDS })
        ),
        Effect.catchIf(
          ({ code }) => code === "permission_denied",
          () => Effect.fail(refused("The sign-in was denied at the Hub."))
        )
      )
      if ("token" in answer) return Redacted.make(answer.token)
      interval = Math.max(interval, answer.intervalSeconds)
    }
    return yield* new CommandFailed({
      message: "The sign-in was not confirmed in time. Try again.",
      exitCode: exitCodes.refused
    })
  })
  return yield* withProgress("waiting for confirmation in the browser")(answer)
})

/** Runs `use` with a temporary sign-in and signs out afterwards. */
export const withTemporarySignIn = <A, R>(
  hub: string,
  clientName: string,
  use: (token: Redacted.Redacted) => Effect.Effect<A, CommandFailed, R>
) =>
  Effect.flatMap(issueSignIn(hub, clientName), (token) => {
    const signOut = Effect.flatMap(connectToHub(hub, token), (calls) => calls.auth.logout())
    return Effect.ensuring(use(token), Effect.ignore(signOut))
  })
