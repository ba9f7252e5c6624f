/** `corral device`: this machine as a device of a Hub. */
import type { DeviceFile } from "@corral/edge/link/DeviceKey"
import { newPrivateKey, publicKeyOf, readDevice, writeDevice } from "@corral/edge/link/DeviceKey"
import { hubUrlOf } from "@corral/edge/config/HubAddress"
import { Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { randomUUID } from "node:crypto"
import { readFileSync, rmSync } from "node:fs"
import { hostname } from "node:os"
import { join } from "node:path"
import { refused } from "../CommandFailed.ts"
import { withTemporarySignIn } from "../hub/DeviceSignIn.ts"
import { callApi, fetchEdgeHealth, connectToChosenEdge } from "../edge/EdgeClient.ts"
import { corralHome, locateEdge } from "../edge/EdgeLocation.ts"
import { edgeFlags, jsonObject, toggle } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { connectToHub } from "../hub/HubClient.ts"
import { LOCAL_DEVICE_FILE } from "../hub/LocalDevice.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const deviceFile = Effect.map(corralHome, (home) => join(home, "device.json"))

/** The device that this home is, where it is one. */
const current = Effect.gen(function* () {
  const file = yield* deviceFile
  const device = yield* Effect.mapError(readDevice(file), ({ message }) => refused(`${message}.`))
  return { file, device }
})

const joinedDevice = Effect.flatMap(current, ({ device, file }) =>
  device === undefined
    ? Effect.fail(refused("This machine has joined no Hub: corral device join --hub URL."))
    : Effect.succeed({ device, file })
)

/** The device that the Edge of this home is: of a Hub that was joined, else of the one that `corral up` starts beside it. */
const linkedDevice = Effect.gen(function* () {
  const { device } = yield* current
  const own = join(yield* corralHome, LOCAL_DEVICE_FILE)
  const found = device ?? (yield* Effect.mapError(readDevice(own), ({ message }) => refused(`${message}.`)))
  return found ?? (yield* joinedDevice).device
})

const describe = ({ deviceId, hub, name }: DeviceFile): string =>
  `${escapeLine(name)} (${deviceId}) at ${escapeLine(hub)}`

/** The join token that was given, on the command line or in a file or on stdin. */
const givenToken = Effect.fnUntraced(function* (
  token: Option.Option<Redacted.Redacted>,
  file: Option.Option<string>
) {
  if (Option.isNone(file)) return Option.map(token, Redacted.value)
  const path = file.value
  const text = yield* Effect.try({
    try: () => readFileSync(path === "-" ? 0 : path, "utf8").trim(),
    catch: () => refused(`There is no token to be read in ${path}.`)
  })
  return text === "" ? yield* refused(`There is no token to be read in ${path}.`) : Option.some(text)
})

const joinHub = Command.make(
  "join",
  {
    hub: Flag.String("hub").pipe(Flag.withDescription("Address of the Hub, such as https://corral.example")),
    token: Flag.Redacted("token").pipe(
      Flag.withDescription("A join token. Others on this machine may see it there: prefer --token-file"),
      Flag.optional
    ),
    tokenFile: Flag.String("token-file").pipe(
      Flag.withDescription("File with a join token; - reads it from stdin. Without a token you sign in"),
      Flag.optional
    ),
    name: Flag.String("name").pipe(
      Flag.withDescription("What the Hub calls this machine"),
      Flag.withDefault(hostname())
    ),
    json: jsonObject
  },
  Effect.fn(function* ({ hub, json, name, token, tokenFile }) {
    const host = yield* Host
    const { device, file } = yield* current
    if (device !== undefined)
      return yield* refused(`This machine is ${describe(device)} already: corral device leave comes first.`)
    const address = hubUrlOf(hub)
    if ("problem" in address) return yield* refused(`--hub: ${address.problem}.`)
    const { url } = address
    const given = yield* givenToken(token, tokenFile)
    const privateKey = newPrivateKey()
    const publicKey = publicKeyOf(privateKey)

    const register = Effect.fnUntraced(function* (signIn?: Redacted.Redacted) {
      const calls = yield* connectToHub(url, signIn)
      const payload = {
        name,
        kind: "edge" as const,
        publicKey,
        ...Option.match(given, { onNone: () => ({}), onSome: (joinToken) => ({ joinToken }) })
      }
      return yield* callApi(
        calls.deviceRegistration.register({ headers: { "idempotency-key": randomUUID() }, payload })
      )
    })
    const registered = Option.isSome(given)
      ? yield* register()
      : yield* withTemporarySignIn(url, name, register)
    const joined = { hub: url, deviceId: registered.id, name: registered.name, privateKey }
    yield* Effect.mapError(writeDevice(file, joined), ({ message }) => refused(`${message}.`))
    host.write(
      json
        ? `${JSON.stringify({ deviceId: registered.id, hub: url, name: registered.name })}\n`
        : `This machine is ${describe(joined)}. An Edge that runs here links by itself.\n`
    )
  })
).pipe(Command.withDescription("Make this machine a device of a Hub"))

const status = Command.make(
  "status",
  { ...edgeFlags, json: jsonObject },
  Effect.fn(function* ({ json, tokenFile, url }) {
    const host = yield* Host
    const device = yield* linkedDevice
    const { deviceId, hub, name } = device
    const health = Effect.flatMap(locateEdge({ url, tokenFile }), fetchEdgeHealth)
    const found = yield* Effect.result(health)
    const link = found._tag === "Success" ? found.success.link : undefined
    const since = link?.since === undefined ? "" : ` since ${link.since}`
    const problem = link?.problem === undefined ? "" : `: ${escapeLine(link.problem)}`
    const state =
      found._tag === "Failure" ? found.failure.message : `${link?.state ?? "unknown"}${since}${problem}`
    host.write(
      json
        ? `${JSON.stringify({ deviceId, hub, name, ...(link === undefined ? {} : { link }) })}\n`
        : `${describe(device)}\nLink: ${state}\n`
    )
  })
).pipe(Command.withDescription("Say which device this machine is, and whether it is linked"))

const rotate = Command.make(
  "rotate",
  { ...edgeFlags, json: jsonObject },
  Effect.fn(function* ({ json, ...edge }) {
    const host = yield* Host
    yield* linkedDevice
    const calls = yield* connectToChosenEdge(edge)
    const link = yield* callApi(calls.link.rotate())
    host.write(
      json ? `${JSON.stringify(link)}\n` : "This device has a new key; the old one is worth nothing.\n"
    )
  })
).pipe(Command.withDescription("Give this device a new key, over the link of the Edge that runs here"))

const leave = Command.make(
  "leave",
  { yes: toggle("yes", "Do not ask"), json: jsonObject },
  Effect.fn(function* ({ json, yes }) {
    const host = yield* Host
    const { device, file } = yield* joinedDevice
    if (!yes) {
      if (!host.interactive) return yield* refused("Nobody can be asked here: --yes says that it is meant.")
      const typed = yield* Effect.callback<string>((resume) => {
        host.write(
          `Forget the key of ${describe(device)}? Runs that it has not told whole are lost to the Hub. [y/N] `
        )
        const stop = host.onLine((line) => {
          stop()
          resume(Effect.succeed(line))
        })
        return Effect.sync(stop)
      })
      if (!/^y(es)?$/i.test(typed.trim())) return yield* refused("Nothing was changed.")
    }
    yield* Effect.sync(() => rmSync(file, { force: true }))
    const { deviceId, hub } = device
    host.write(
      json
        ? `${JSON.stringify({ deviceId, hub, left: true })}\n`
        : "This machine is no device any more. Its owner may revoke it at the Hub, too.\n"
    )
  })
).pipe(Command.withDescription("Forget this device's key; the Edge goes on without a Hub"))

export const deviceCommand = Command.make("device").pipe(
  Command.withDescription("This machine as a device of a Hub"),
  Command.withSubcommands([joinHub, status, rotate, leave])
)
