/** Requests over connections that are kept: how many a second, and how long each takes. */
import { Agent, get } from "node:http"

export interface Taken {
  /** A second, all connections together. */
  readonly rate: number
  /** Milliseconds of each. */
  readonly times: ReadonlyArray<number>
}

export class Client {
  private readonly agent: Agent
  private readonly token: string

  constructor(token: string, connections: number) {
    this.token = token
    this.agent = new Agent({ keepAlive: true, maxSockets: connections })
  }

  /** The body of an answer, which must be 200. */
  body(url: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const request = get(
        url,
        { agent: this.agent, headers: { authorization: `Bearer ${this.token}` } },
        (response) => {
          let text = ""
          response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
          response.once("end", () =>
            response.statusCode === 200 ? resolve(text) : reject(new Error(`${response.statusCode} ${text}`))
          )
        }
      )
      request.once("error", reject)
    })
  }

  close(): void {
    this.agent.destroy()
  }
}

/** Calls `ask` `count` times, `atOnce` calls in parallel. */
export const take = async (count: number, atOnce: number, ask: () => Promise<unknown>): Promise<Taken> => {
  const times: Array<number> = []
  const begin = performance.now()
  let left = count
  const lane = async () => {
    while (left-- > 0) {
      const at = performance.now()
      await ask()
      times.push(performance.now() - at)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  return { rate: (count * 1_000) / (performance.now() - begin), times }
}
