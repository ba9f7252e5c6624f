/**
 * PostgreSQL with something in front of it: a pooler that discards the settings of connections, as PgBouncer does with `ignore_startup_parameters`,
 * or a server that recovers from a crash, which refuses the first connections with `cannot_connect_now`.
 */
import { onTestFinished } from "@effect/vitest"
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"

const REQUIRED_SETTINGS = new Set(["user", "database"])

/** The first message of a connection, with the user and the database only: length, version, then pairs of texts that end with a zero byte. */
const withoutSettings = (startup: Buffer): Buffer => {
  const texts = startup.subarray(8).toString("latin1").split("\0")
  const required = texts.flatMap((name, at) =>
    at % 2 === 0 && REQUIRED_SETTINGS.has(name) ? [name, texts[at + 1] ?? ""] : []
  )
  const body = Buffer.from(`${required.join("\0")}\0\0`, "latin1")
  const head = Buffer.from(startup.subarray(0, 8))
  head.writeInt32BE(body.length + head.length)
  return Buffer.concat([head, body])
}

/** URL of the same database, through the pooler. Ends with the test. */
export const openPooledPostgres = async (database: string): Promise<string> => {
  const { hostname, port } = new URL(database)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const behind = connect(Number(port), hostname)
    for (const socket of [client, behind]) sockets.add(socket.on("error", () => undefined))
    client.once("data", (startup: Buffer) => {
      behind.write(withoutSettings(startup))
      client.pipe(behind).pipe(client)
    })
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const url = new URL(database)
  url.port = String((server.address() as AddressInfo).port)
  url.searchParams.set("sslmode", "disable")
  return url.href
}

/** The refusal as an ErrorResponse: its length, then fields that end with a zero byte, then one more. */
const refusal = (): Buffer => {
  const fields = ["SFATAL", "VFATAL", "C57P03", "Mthe database system is starting up", ""]
  const body = Buffer.from(`${fields.join("\0")}\0`)
  const head = Buffer.alloc(5)
  head.write("E")
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/** PostgreSQL as it answers while it recovers from a crash. */
interface StartingPostgres {
  /** URL of the same database, through the starting server. */
  readonly url: string
  readonly refused: () => number
}

/** Refuses that many connections. Ends with the test. */
export const openStartingPostgres = async (
  database: string,
  refusals = Number.POSITIVE_INFINITY
): Promise<StartingPostgres> => {
  const { hostname, port } = new URL(database)
  const sockets = new Set<Socket>()
  let refused = 0
  const server = createServer((client) => {
    sockets.add(client.on("error", () => undefined))
    if (refused >= refusals) {
      const behind = connect(Number(port), hostname)
      sockets.add(behind.on("error", () => undefined))
      client.pipe(behind).pipe(client)
      return
    }
    client.once("data", () => {
      refused++
      client.end(refusal())
    })
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const url = new URL(database)
  url.port = String((server.address() as AddressInfo).port)
  return { url: url.href, refused: () => refused }
}
