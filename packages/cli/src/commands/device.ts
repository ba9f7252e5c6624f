/** `corral device` and `corral devices`: this machine as a device of a Hub, and the devices at a Hub with their state. */
import { hubUrlOf } from "@corral/edge/config/EdgeConfig"
import {
  type DeviceFile,
  newPrivateKey,
  publicKeyOf,
  readDevice,
  writeDevice
} from "@corral/edge/link/DeviceKey"
import { Clock, Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { randomUUID } from "node:crypto"
import { readFileSync, rmSync } from "node:fs"
import { hostname } from "node:os"
import { join } from "node:path"
import { readAllPages } from "../AllPages.ts"
import { refused } from "../CommandFailed.ts"
import { edgeFlags, hubFlag, jsonLines, jsonObject, toggle } from "../Flags.ts"
import { connectToChosenEdge, fetchEdgeHealth } from "../edge/EdgeClient.ts"
import { corralHome, locateEdge } from "../edge/EdgeLocation.ts"
import { withTemporarySignIn } from "../hub/DeviceSignIn.ts"
import { connectToHub, connectToSignedInHub } from "../hub/HubClient.ts"
import { thisDevice } from "../hub/SignInFile.ts"
import { Host } from "../terminal/Host.ts"
import { formatItem, makePaint } from "../terminal/Rows.ts"
import { listedTime, localTime } from "../terminal/ShownTime.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const tints = { online: "green", offline: "dim", revoked: "red" } as const

/** `corral devices`: lists devices at a Hub with their state. */
export const devicesCommand = Command.make(
  "devices",
  { ...hubFlag, json: jsonLines },
  Effect.fn(function* ({ hub, json }) {
    const host = yield* Host
    const { calls } = yield* connectToSignedInHub(hub)
    const { items } = yield* readAllPages((query) => calls.devices.list({ query }))
    const paint = makePaint(host.colours)
    const now = yield* Clock.currentTimeMillis
    for (const device of items) {
      const { id, lastSeenAt, name, state } = device
      const seen = lastSeenAt === undefined ? "never seen" : `seen ${listedTime(lastSeenAt, host.width, now)}`
      const parts = [
        { text: state.padEnd(7), style: tints[state] },
        { text: escapeLine(name) },
        ...(state === "online" ? [] : [{ text: seen, style: "dim" } as const])
      ]
      host.write(json ? `${JSON.stringify(device)}\n` : formatItem(id, parts, paint, host.width))
    }
    if (!json && items.length === 0)
      host.write("No devices yet. Add this machine with `corral device join`.\n")
  })
).pipe(Command.withDescription("List your devices at the Hub"))

const deviceFile = Effect.map(corralHome, (home) => join(home, "device.json"))

/** Reads the device file of this home, if there is one. */
const current = Effect.gen(function* () {
  const file = yield* deviceFile
  const device = yield* Effect.mapError(readDevice(file), ({ message }) => refused(`${message}.`))
  return { file, device }
})

const joinedDevice = Effect.flatMap(current, ({ device, file }) =>
  device === undefined
    ? Effect.fail(refused("This machine has not joined a Hub. Join one with `corral device join --hub URL`."))
    : Effect.succeed({ device, file })
)

/** Device of the local Edge: at the joined Hub, or at the Hub that `corral up` starts next to it. */
const linkedDevice = Effect.gen(function* () {
  return (yield* thisDevice) ?? (yield* joinedDevice).device
})

const describe = ({ deviceId, hub, name }: DeviceFile): string =>
  `${escapeLine(name)} (${deviceId}) at ${escapeLine(hub)}`

/** Reads the join token from the command line, a file or stdin. */
const readJoinToken = Effect.fnUntraced(function* (
  token: Option.Option<Redacted.Redacted>,
  file: Option.Option<string>
) {
  if (Option.isNone(file)) return Option.map(token, Redacted.value)
  const path = file.value
  const text = yield* Effect.try({
    try: () => readFileSync(path === "-" ? 0 : path, "utf8").trim(),
    catch: () => refused(`Can't read a token from ${path}.`)
  })
  return text === "" ? yield* refused(`Can't read a token from ${path}.`) : Option.some(text)
})

const joinHub = Command.make(
  "join",
  {
    hub: Flag.String("hub").pipe(Flag.withDescription("URL of the Hub, such as https://corral.example")),
    token: Flag.Redacted("token").pipe(
      Flag.withDescription("Join token. Other users of this machine may see it; prefer --token-file"),
      Flag.optional
    ),
    tokenFile: Flag.String("token-file").pipe(
      Flag.withDescription("File with a join token, or - for stdin. Without a token you sign in"),
      Flag.optional
    ),
    name: Flag.String("name").pipe(
      Flag.withDescription("Name of this machine at the Hub"),
      Flag.withDefault(hostname())
    ),
    json: jsonObject
  },
  Effect.fn(function* ({ hub, json, name, token, tokenFile }) {
    const host = yield* Host
    const { device, file } = yield* current
    if (device !== undefined)
      return yield* refused(
        `This machine has already joined as ${describe(device)}. Run \`corral device leave\` first.`
      )
    const address = hubUrlOf(hub)
    if ("problem" in address) return yield* refused(`--hub: ${address.problem}.`)
    const { url } = address
    const joinToken = yield* readJoinToken(token, tokenFile)
    const privateKey = newPrivateKey()
    const publicKey = publicKeyOf(privateKey)

    const register = Effect.fnUntraced(function* (signIn?: Redacted.Redacted) {
      const calls = yield* connectToHub(url, signIn)
      const payload = {
        name,
        kind: "edge" as const,
        publicKey,
        ...Option.match(joinToken, { onNone: () => ({}), onSome: (value) => ({ joinToken: value }) })
      }
      return yield* calls.deviceRegistration.register({
        headers: { "idempotency-key": randomUUID() },
        payload
      })
    })
    const registered = Option.isSome(joinToken)
      ? yield* register()
      : yield* withTemporarySignIn(url, name, register)
    const joined = { hub: url, deviceId: registered.id, name: registered.name, privateKey }
    yield* Effect.mapError(writeDevice(file, joined), ({ message }) => refused(`${message}.`))
    host.write(
      json
        ? `${JSON.stringify({ deviceId: registered.id, hub: url, name: registered.name })}\n`
        : `This machine has joined as ${describe(joined)}. A running Edge links automatically.\n`
    )
  })
).pipe(Command.withDescription("Join a Hub with this machine"))

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
    const since = link?.since === undefined ? "" : ` since ${localTime(link.since)}`
    const problem = link?.problem === undefined ? "" : `: ${escapeLine(link.problem)}`
    const state =
      found._tag === "Failure" ? found.failure.message : `${link?.state ?? "unknown"}${since}${problem}`
    host.write(
      json
        ? `${JSON.stringify({ deviceId, hub, name, ...(link === undefined ? {} : { link }) })}\n`
        : `${describe(device)}\nLink: ${state}\n`
    )
  })
).pipe(Command.withDescription("Show the device of this machine and its link"))

const rotate = Command.make(
  "rotate",
  { ...edgeFlags, json: jsonObject },
  Effect.fn(function* ({ json, ...edge }) {
    const host = yield* Host
    yield* linkedDevice
    const calls = yield* connectToChosenEdge(edge)
    const link = yield* calls.link.rotate()
    host.write(
      json ? `${JSON.stringify(link)}\n` : "This device has a new key. The old key no longer works.\n"
    )
  })
).pipe(Command.withDescription("Rotate the key of this device over the link of the local Edge"))

const leave = Command.make(
  "leave",
  { yes: toggle("yes", "Skip the confirmation"), json: jsonObject },
  Effect.fn(function* ({ json, yes }) {
    const host = yield* Host
    const { device, file } = yield* joinedDevice
    if (!yes) {
      if (!host.interactive)
        return yield* refused("Can't ask for confirmation without a terminal. Use --yes to confirm.")
      const typed = yield* Effect.callback<string>((resume) => {
        host.write(
          `Delete the key of ${describe(device)}? The Hub loses events that this device has not sent yet. [y/N] `
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
        : "This machine has left the Hub. Its owner can also revoke the device at the Hub.\n"
    )
  })
).pipe(Command.withDescription("Delete the key of this device; the Edge continues without a Hub"))

export const deviceCommand = Command.make("device").pipe(
  Command.withDescription("Manage this machine as a device of a Hub"),
  Command.withSubcommands([joinHub, status, rotate, leave])
)
