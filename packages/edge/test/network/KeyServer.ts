/** A model service of a test with TLS, behind the proxy of a run with placeholders, and a client of the run. */
import { onTestFinished } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { createServer as createHttpServer, type RequestListener, type Server } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import { type AddressInfo, connect as connectSocket } from "node:net"
import { join } from "node:path"
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from "node:tls"
import { HostDecisions } from "../../src/network/HostDecisions.ts"
import { hostEntryOf } from "../../src/network/HostEntry.ts"
import { makeRunAuthority } from "../../src/network/RunAuthority.ts"
import { openRunKeys, type RunKeyOptions } from "../../src/network/RunNetwork.ts"
import { serveRunProxy } from "../../src/network/RunProxy.ts"
import { openFolder } from "../Folder.ts"
import { Outside, PUBLIC } from "./Outside.ts"

export const KEY = "sk-ant-real-0123456789abcdef"
const HOSTS = ["model.test", "other.test", "expired.test"]

export const options: RunKeyOptions = {
  entry: { adapter: "a" },
  declared: [
    { variable: "ANTHROPIC_API_KEY", headers: ["x-api-key"], hosts: ["model.test"], prefix: "sk-ant-" },
    { variable: "OTHER_KEY", headers: ["authorization"], hosts: ["plain.test"] }
  ],
  env: { ANTHROPIC_API_KEY: KEY, COPY: `key: ${KEY}` }
}

export interface KeyServerOptions {
  readonly respond: RequestListener
  /** Hosts of the service's certificate. */
  readonly certificateOf?: ReadonlyArray<string>
  readonly isPlain?: boolean
  readonly keys?: RunKeyOptions
  readonly environment?: Readonly<Record<string, string>>
}

const listen = async (server: Server): Promise<number> => {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

/** The proxy of a run. `send` writes to a host through it, and gives what comes back until the connection ends. */
export const openKeyServer = async ({
  certificateOf = HOSTS,
  environment = {},
  isPlain = false,
  keys: keyOptions = options,
  respond
}: KeyServerOptions) => {
  const folder = openFolder()
  const upstream = await makeRunAuthority([certificateOf], Date.now())
  const port = await listen(
    isPlain ? createHttpServer(respond) : createHttpsServer({ ...upstream.signed[0] }, respond)
  )
  const outside = new Outside(
    port,
    Object.fromEntries([...HOSTS, "plain.test"].map((host) => [host, [PUBLIC]]))
  )
  const scope = Scope.makeUnsafe()
  onTestFinished(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const declared = [...HOSTS, "plain.test"].flatMap((host) => hostEntryOf(host) ?? [])
  const decisions = new HostDecisions(
    { declared, owned: [], mayAsk: false },
    () => Effect.succeed("denied"),
    scope
  )
  const refusals: Array<string> = []
  const path = join(folder, "proxy")
  const connection = {
    access: { ...outside.access, authorities: [upstream.certificate] },
    permissionFor: (target: Parameters<typeof decisions.permissionFor>[0]) => decisions.permissionFor(target),
    onRefused: (reason: string) => void refusals.push(reason)
  }
  const keys = await Effect.runPromise(openRunKeys(folder, keyOptions, environment))
  await Effect.runPromise(
    Effect.gen(function* () {
      yield* serveRunProxy(path, { ...connection, keyed: yield* keys.makeProxy(connection) })
    }).pipe(Scope.provide(scope))
  )
  const env = keys.environmentOf(keyOptions.env, folder)
  const authority = env["NODE_EXTRA_CA_CERTS"]

  const tunnel = async (target: string) => {
    const socket = connectSocket(path).on("error", () => undefined)
    onTestFinished(() => void socket.destroy())
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\n`)
    const [head] = await once(socket, "data")
    if (!String(head).includes(" 200 ")) throw new Error(String(head))
    return socket
  }
  /** A connection of the run, which trusts the run's authority only. */
  const secure = async (target: string, more: ConnectionOptions = {}): Promise<TLSSocket> => {
    const ca = authority === undefined ? [] : [readFileSync(authority)]
    const [host] = target.split(":")
    const secured = connectTls({ socket: await tunnel(target), servername: host, ca, ...more })
    await once(secured, "secureConnect")
    return secured
  }
  const send = async (target: string, text: string, more?: ConnectionOptions): Promise<string> => {
    const secured = await secure(target, more)
    secured.write(text)
    let answer = ""
    for await (const bytes of secured) answer += String(bytes)
    return answer
  }
  return {
    authority: upstream.certificate,
    env,
    folder,
    outside,
    path,
    placeholder: env["ANTHROPIC_API_KEY"] ?? "",
    refusals,
    secure,
    send,
    tunnel
  }
}
