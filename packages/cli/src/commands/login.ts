/** `corral login`, `logout` and `whoami`: sign-in at a Hub for the other commands. */
import { firstCharacters } from "@corral/domain/text/Cut"
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { hostname } from "node:os"
import { refused } from "../CommandFailed.ts"
import { issueSignIn } from "../hub/DeviceSignIn.ts"
import { hubFlag, jsonObject } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { connectToHub, connectToSignedInHub, parseHubUrl, requireSignIn } from "../hub/HubClient.ts"
import { deleteSignIn, readSignIn, thisDevice, writeSignIn } from "../hub/SignInFile.ts"
import { localTime } from "../terminal/ShownTime.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

/** URL of the Hub that this machine has joined. */
const hubOfThisMachine = Effect.gen(function* () {
  const device = yield* thisDevice
  return (
    device?.hub ?? (yield* refused("Choose a Hub, for example: corral login --hub https://corral.example"))
  )
})

interface LoginRequest {
  readonly hub: Option.Option<string>
  readonly json: boolean
}

/** Signs the commands of this machine in, with a browser. */
export const loginToHub = Effect.fn("login.toHub")(function* ({ hub, json }: LoginRequest) {
  const host = yield* Host
  const url = Option.isSome(hub) ? yield* parseHubUrl(hub.value) : yield* hubOfThisMachine
  const existing = yield* readSignIn
  if (existing !== undefined) {
    // An expired sign-in is replaced.
    const current = yield* connectToHub(existing.hub, existing.token).pipe(
      Effect.flatMap((calls) => calls.auth.me()),
      Effect.map(({ user }) => user),
      Effect.catch(({ code }) => Effect.succeed(code !== "unauthorized"))
    )
    if (typeof current === "object" && existing.hub === url) {
      const already = `You are already signed in to ${url} as ${escapeLine(current.name)}.\n`
      return host.write(json ? `${JSON.stringify({ hub: url, user: current })}\n` : already)
    }
    if (current !== false)
      return yield* refused(
        `You are signed in to ${existing.hub} as ${escapeLine(existing.name)}. Run \`corral logout\` first.`
      )
  }
  const token = yield* issueSignIn(url, firstCharacters(`corral on ${hostname()}`, 100))
  const calls = yield* connectToHub(url, token)
  const { user } = yield* calls.auth.me()
  yield* writeSignIn({ hub: url, userId: user.id, name: user.name, token })
  host.write(
    json
      ? `${JSON.stringify({ hub: url, user })}\n`
      : `You are signed in to ${url} as ${escapeLine(user.name)}.\n`
  )
})

export const loginCommand = Command.make(
  "login",
  {
    hub: Flag.String("hub").pipe(
      Flag.withDescription("URL of the Hub. Default: the Hub that this machine has joined"),
      Flag.optional
    ),
    json: jsonObject
  },
  loginToHub
).pipe(Command.withDescription("Sign in to a Hub with a browser"))

export const logoutCommand = Command.make(
  "logout",
  { json: jsonObject },
  Effect.fn(function* ({ json }) {
    const host = yield* Host
    const { hub, token } = yield* requireSignIn(Option.none())
    const calls = yield* connectToHub(hub, token)
    const ended = yield* Effect.result(calls.auth.logout())
    yield* deleteSignIn
    const hasEnded = ended._tag === "Success" || ended.failure.code === "unauthorized"
    host.write(json ? `${JSON.stringify({ hub, ended: hasEnded })}\n` : `You are signed out of ${hub}.\n`)
    if (!hasEnded)
      host.warn("The Hub did not respond. The sign-in expires there after it has been unused for a while.\n")
  })
).pipe(Command.withDescription("Sign out of the Hub"))

export const whoamiCommand = Command.make(
  "whoami",
  { ...hubFlag, json: jsonObject },
  Effect.fn(function* ({ hub, json }) {
    const host = yield* Host
    const { calls, hub: url } = yield* connectToSignedInHub(hub)
    const { expiresAt, kind, user } = yield* calls.auth.me()
    host.write(
      json
        ? `${JSON.stringify({ hub: url, user, kind, expiresAt })}\n`
        : `${escapeLine(user.name)} (${user.id}) at ${url}, until ${localTime(expiresAt)}\n`
    )
  })
).pipe(Command.withDescription("Show the signed-in user and the Hub"))
