/** `corral login`, `logout` and `whoami`: the sign-in at a Hub that the other commands act with. */
import { readDevice } from "@corral/edge/link/DeviceKey"
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { hostname } from "node:os"
import { join } from "node:path"
import { refused } from "../CommandFailed.ts"
import { issueSignIn } from "../hub/DeviceSignIn.ts"
import { callApi } from "../edge/EdgeClient.ts"
import { corralHome } from "../edge/EdgeLocation.ts"
import { hubFlag, jsonObject } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { connectToHub } from "../hub/HubClient.ts"
import { LOCAL_DEVICE_FILE } from "../hub/LocalDevice.ts"
import { parseHubUrl, connectToSignedInHub, requireSignIn } from "../hub/SignedInHub.ts"
import { deleteSignIn, readSignIn, writeSignIn } from "../hub/SignInFile.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

/** The Hub that this machine is a device of. */
const hubOfThisMachine = Effect.gen(function* () {
  const home = yield* corralHome
  for (const name of ["device.json", LOCAL_DEVICE_FILE]) {
    const device = yield* Effect.mapError(readDevice(join(home, name)), ({ message }) =>
      refused(`${message}.`)
    )
    if (device !== undefined) return device.hub
  }
  return yield* refused("Which Hub? Name it: corral login --hub https://corral.example.")
})

export const loginCommand = Command.make(
  "login",
  {
    hub: Flag.String("hub").pipe(
      Flag.withDescription("Address of the Hub; else the one that this machine is a device of"),
      Flag.optional
    ),
    json: jsonObject
  },
  Effect.fn(function* ({ hub, json }) {
    const host = yield* Host
    const url = Option.isSome(hub) ? yield* parseHubUrl(hub.value) : yield* hubOfThisMachine
    const kept = yield* readSignIn
    if (kept !== undefined) {
      // One that has ended is in nobody's way.
      const still = yield* connectToHub(kept.hub, kept.token).pipe(
        Effect.flatMap((calls) => callApi(calls.auth.me())),
        Effect.map(({ user }) => user),
        Effect.catch(({ code }) => Effect.succeed(code !== "unauthorized"))
      )
      if (typeof still === "object" && kept.hub === url) {
        const already = `You are already signed in to ${url} as ${escapeLine(still.name)}.\n`
        return host.write(json ? `${JSON.stringify({ hub: url, user: still })}\n` : already)
      }
      if (still !== false)
        return yield* refused(
          `You are signed in to ${kept.hub} as ${escapeLine(kept.name)}: corral logout comes first.`
        )
    }
    const token = yield* issueSignIn(url, `corral on ${hostname()}`.slice(0, 100))
    const calls = yield* connectToHub(url, token)
    const { user } = yield* callApi(calls.auth.me())
    yield* writeSignIn({ hub: url, userId: user.id, name: user.name, token })
    host.write(
      json
        ? `${JSON.stringify({ hub: url, user })}\n`
        : `You are signed in to ${url} as ${escapeLine(user.name)}.\n`
    )
  })
).pipe(Command.withDescription("Sign in to a Hub, by a page that you open anywhere"))

export const logoutCommand = Command.make(
  "logout",
  { json: jsonObject },
  Effect.fn(function* ({ json }) {
    const host = yield* Host
    const { hub, token } = yield* requireSignIn(Option.none())
    const calls = yield* connectToHub(hub, token)
    const ended = yield* Effect.result(callApi(calls.auth.logout()))
    yield* deleteSignIn
    const known = ended._tag === "Success" || ended.failure.code === "unauthorized"
    host.write(json ? `${JSON.stringify({ hub, ended: known })}\n` : `You are signed out of ${hub}.\n`)
    if (!known)
      host.warn("The Hub did not answer: its side of the sign-in ends when it has not been used for long.\n")
  })
).pipe(Command.withDescription("End the sign-in at the Hub"))

export const whoamiCommand = Command.make(
  "whoami",
  { ...hubFlag, json: jsonObject },
  Effect.fn(function* ({ hub, json }) {
    const host = yield* Host
    const { calls, hub: url } = yield* connectToSignedInHub(hub)
    const { expiresAt, kind, user } = yield* callApi(calls.auth.me())
    host.write(
      json
        ? `${JSON.stringify({ hub: url, user, kind, expiresAt })}\n`
        : `${escapeLine(user.name)} (${user.id}) at ${url}, until ${expiresAt}\n`
    )
  })
).pipe(Command.withDescription("Say who is signed in, and where"))
