/**
 * Machines of a test: namespaces of the kernel's network, joined by a bridge. A program in one of them has its machine's address and reaches the others, until the
 * test cuts them off. The test's own network is at the bridge too, as `HOST`.
 *
 * Needs root. Packets between machines that are cut off vanish without an error, as with a broken switch.
 */
import { type ChildProcess, execFileSync, spawn, type SpawnOptions } from "node:child_process"
import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"

const HOST = 254

const ip = (...args: ReadonlyArray<string>): string =>
  execFileSync("ip", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })

/** Whether this process may make namespaces. */
export const canMakeNetworks = (): boolean => {
  const name = `corral-${randomBytes(3).toString("hex")}`
  try {
    ip("netns", "add", name)
    ip("netns", "del", name)
    return true
  } catch {
    return false
  }
}

export class NodeNetwork {
  readonly #id = randomBytes(3).toString("hex")
  readonly #subnet: string
  readonly #names: ReadonlyArray<string>

  /** `subnet`: the first three numbers of all addresses; by default any. */
  constructor(names: ReadonlyArray<string>, subnet = `10.213.${(randomBytes(1)[0] ?? 0) & 0x7f}`) {
    this.#names = names
    this.#subnet = subnet
    ip("link", "add", this.#bridge, "type", "bridge")
    ip("addr", "add", `${this.hostAddress}/24`, "dev", this.#bridge)
    ip("link", "set", this.#bridge, "up")
    for (const name of names) this.#add(name)
  }

  get hostAddress(): string {
    return `${this.#subnet}.${HOST}`
  }

  get range(): string {
    return `${this.#subnet}.0/24`
  }

  addressOf(name: string): string {
    return `${this.#subnet}.${this.#names.indexOf(name) + 1}`
  }

  /** Starts a program there, which is the returned process itself. */
  spawn(name: string, command: ReadonlyArray<string>, options: SpawnOptions): ChildProcess {
    const [program = "", ...args] = this.commandAt(name, command)
    return spawn(program, args, options)
  }

  /** The command that runs a command there. */
  commandAt(name: string, command: ReadonlyArray<string>): ReadonlyArray<string> {
    return ["ip", "netns", "exec", this.#space(name), ...command]
  }

  /** From now on, nothing that it sends to that address arrives. */
  cut(name: string, address: string): void {
    ip("-n", this.#space(name), "route", "add", "blackhole", `${address}/32`)
  }

  heal(name: string, address: string): void {
    ip("-n", this.#space(name), "route", "del", "blackhole", `${address}/32`)
  }

  /** Kills all programs there at once, as a power failure does; with `but`, all except that one. */
  kill(name: string, but?: string): void {
    this.#kill(name, (program) => program !== but)
  }

  killProgram(name: string, program: string): void {
    this.#kill(name, (each) => each === program)
  }

  close(): void {
    for (const name of this.#names) {
      this.kill(name)
      ip("netns", "del", this.#space(name))
    }
    ip("link", "del", this.#bridge)
  }

  get #bridge(): string {
    return `corral${this.#id}`
  }

  #space(name: string): string {
    return `corral-${this.#id}-${name}`
  }

  #kill(name: string, isMeant: (program: string) => boolean): void {
    for (const pid of this.#pids(name)) {
      try {
        if (isMeant(readFileSync(`/proc/${pid}/comm`, "utf8").trim())) process.kill(pid, "SIGKILL")
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  #pids(name: string): ReadonlyArray<number> {
    return ip("netns", "pids", this.#space(name)).split("\n").filter(Boolean).map(Number)
  }

  #add(name: string): void {
    const space = this.#space(name)
    const outside = `c${this.#id}${name}`.slice(0, 15)
    ip("netns", "add", space)
    ip("link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", space)
    ip("link", "set", outside, "master", this.#bridge, "up")
    ip("-n", space, "link", "set", "lo", "up")
    ip("-n", space, "addr", "add", `${this.addressOf(name)}/24`, "dev", "eth0")
    ip("-n", space, "link", "set", "eth0", "up")
  }
}
