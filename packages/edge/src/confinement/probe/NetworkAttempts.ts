/**
 * Attempts to reach servers of the probe on this machine, and to look up a name. Attempts to reach the machine through folders that
 * the program sees: by sockets, pipes, and what is next to programs.
 */
import { createSocket } from "node:dgram"
import * as dns from "node:dns/promises"
import * as fs from "node:fs"
import { connect, type NetConnectOpts } from "node:net"
import { type Attempts, expectTrue } from "./Attempts.ts"

const WITHIN_MS = 2_000
const UDP_WITHIN_MS = 300

/** What a server sends after a text, until it closes. */
export const answerOf = (address: NetConnectOpts, text = ""): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(address, () => socket.write(text))
    let answer = ""
    socket.setTimeout(WITHIN_MS, () => socket.destroy(new Error("no answer")))
    socket.setEncoding("utf8").on("data", (more) => (answer += more))
    socket.once("error", reject)
    socket.once("close", () => resolve(answer))
  })

export const reached = async (address: NetConnectOpts): Promise<void> => {
  if ((await answerOf(address)) === "") throw new Error("it said nothing")
}

export const replied = (address: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = createSocket(address.includes(":") ? "udp6" : "udp4")
    const end = (act: () => void) => {
      clearTimeout(timer)
      socket.close()
      act()
    }
    const timer = setTimeout(() => end(() => reject(new Error("no reply"))), UDP_WITHIN_MS)
    socket.once("message", () => end(resolve))
    socket.once("error", (error) => end(() => reject(error)))
    socket.once("connect", () => socket.send("x"))
    socket.connect(port, address)
  })

/** Port of the proxy in a run. */
export const PROXY = { host: "127.0.0.1", port: 17_843 }

/** Fails unless the proxy accepts the request. */
export const accepted = async (text: string): Promise<void> => {
  const answer = await answerOf(PROXY, text)
  if (!/^HTTP\/1\.[01] 2/.test(answer)) throw new Error(answer.split("\r\n")[0] || "closed")
}

export const tunnelled = (authority: string): Promise<void> =>
  accepted(`CONNECT ${authority} HTTP/1.1\r\nHost: x\r\n\r\n`)

/** Servers of the probe. */
export interface HostServers {
  readonly ports: { readonly tcp4: number; readonly tcp6: number; readonly udp: number }
  readonly abstract: string
  /** What `/proc/self/ns/net` names on the host. */
  readonly hostNetwork: string
}

export const networkAttempts = ({ abstract, hostNetwork, ports }: HostServers): Attempts => ({
  "a port of the host": () => reached({ host: "127.0.0.1", port: ports.tcp4 }),
  "a port of the host by name": () => reached({ host: "localhost", port: ports.tcp4 }),
  "a port of the host over IPv6": () => reached({ host: "::1", port: ports.tcp6 }),
  "a port of the host by the address of no host": () => reached({ host: "0.0.0.0", port: ports.tcp4 }),
  "UDP to the host": () => replied("127.0.0.1", ports.udp),
  "a name by the system": () => dns.lookup("example.com"),
  "a name by a server": () => new dns.Resolver({ timeout: 300, tries: 1 }).resolve4("example.com"),
  "an abstract socket of the host": () => reached({ path: `\0${abstract}` }),
  "the network of the host without its number": () =>
    expectTrue(fs.readlinkSync("/proc/self/ns/net") === hostNetwork),
  "CONNECT to the host": () => tunnelled(`127.0.0.1:${ports.tcp4}`),
  "CONNECT to the host by name": () => tunnelled(`localhost:${ports.tcp4}`),
  "CONNECT to the host over IPv6": () => tunnelled(`[::1]:${ports.tcp6}`),
  "CONNECT to a mapped address": () => tunnelled(`[::ffff:127.0.0.1]:${ports.tcp4}`),
  "CONNECT to a decimal address": () => tunnelled(`2130706433:${ports.tcp4}`),
  "CONNECT to the address of no host": () => tunnelled(`0.0.0.0:${ports.tcp4}`)
})

/** By attempt, a path. A program of this machine listens at each socket, and reads each pipe. */
export interface VisiblePlaces {
  readonly sockets: Readonly<Record<string, string>>
  readonly pipes: Readonly<Record<string, string>>
  /** Files next to programs and toolchains, which are not part of them. */
  readonly files: Readonly<Record<string, string>>
}

const attempts = (places: Readonly<Record<string, string>>, attempt: (path: string) => unknown): Attempts =>
  Object.fromEntries(Object.entries(places).map(([name, path]) => [name, () => attempt(path)]))

const { O_NONBLOCK, O_WRONLY } = fs.constants

export const visibleAttempts = ({ files, pipes, sockets }: VisiblePlaces): Attempts => ({
  ...attempts(sockets, (path) => reached({ path })),
  ...attempts(pipes, (path) => {
    const fd = fs.openSync(path, O_WRONLY | O_NONBLOCK)
    fs.writeSync(fd, "x")
    fs.closeSync(fd)
  }),
  ...attempts(files, (path) => expectTrue(fs.readFileSync(path, "utf8") !== ""))
})
