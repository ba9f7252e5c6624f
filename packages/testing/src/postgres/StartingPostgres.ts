/**
 * PostgreSQL as it answers while it recovers from a crash: it refuses the first connections with `cannot_connect_now`, then it is the server
 * behind it.
 */
import { onTestFinished } from "@effect/vitest"
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"

/** The refusal as an ErrorResponse: its length, then fields that end with a zero byte, then one more. */
const refusal = (): Buffer => {
  const fields = ["SFATAL", "VFATAL", "C57P03", "Mthe database system is starting up", ""]
  const body = Buffer.from(`${fields.join("\0")}\0`)
  const head = Buffer.alloc(5)
  head.write("E")
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

export interface StartingPostgres {
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
