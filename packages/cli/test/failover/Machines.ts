/**
 * Machines of a test: namespaces of the kernel's network, joined by a bridge. A program in one of them has its machine's address and reaches the
 * others, until the test cuts them off. The test's own network is at the bridge too, as `HOST`. Packets between machines that are cut off vanish
 * without an error, as with a broken switch.
 *
 * An empty machine has a Debian on which nothing is installed, in a folder as root. There is no systemd: `systemctl` is a stand-in that starts the
 * program of a unit.
 *
 * Owns the folders, the network and all programs in it; `close` removes them. Needs root, and for empty machines `mmdebstrap` and a mirror of Debian.
 */
import { type ChildProcess, execFileSync, spawn, type SpawnOptions, spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

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

/** Machines joined by a bridge. */
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

const SYSTEMCTL = fileURLToPath(new URL("systemctl.sh", import.meta.url))
const RELEASE = "bookworm"
/** What Debian expects of a machine, apart from the packages that it calls essential. */
const PARTS = "ca-certificates,hostname,procps"

const run = (program: string, ...args: ReadonlyArray<string>): void => {
  execFileSync(program, args, { stdio: ["ignore", "ignore", "pipe"], maxBuffer: 1 << 26 })
}

/** Why there can be no empty machines here. */
export const emptyMachinesProblem = (): string | undefined => {
  if (spawnSync("which", ["mmdebstrap"]).status !== 0) return "mmdebstrap not installed"
  return canMakeNetworks() ? undefined : "no namespaces of the network for this user"
}

/** Machines with a Debian on which nothing is installed. */
export class EmptyMachines {
  readonly network: NodeNetwork
  readonly #names: ReadonlyArray<string>
  /** In memory, because a folder that is itself layered can't have layers. */
  readonly #folder = mkdtempSync(join(tmpdir(), "corral-machines-"))

  /** `subnet`: as in `NodeNetwork`. */
  constructor(names: ReadonlyArray<string>, subnet: string) {
    this.#names = names
    this.network = new NodeNetwork(names, subnet)
    try {
      run("mount", "-t", "tmpfs", "tmpfs", this.#folder)
      mkdirSync(this.#base)
      run("mmdebstrap", "--variant=minbase", `--include=${PARTS}`, RELEASE, this.#base)
      copyFileSync(SYSTEMCTL, join(this.#base, "usr/bin/systemctl"))
      // Packages start no services while they are installed.
      writeFileSync(join(this.#base, "usr/sbin/policy-rc.d"), "#!/bin/sh\nexit 101\n", { mode: 0o755 })
      for (const name of names) this.#add(name)
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Runs a script of bash as root, and returns what it prints. `isOnline`: in the network of the test's machine, for packages. */
  run(name: string, script: string, { isOnline = false } = {}): string {
    const enter = [
      "unshare",
      "--uts",
      "sh",
      "-c",
      `hostname ${name} && exec chroot ${this.#rootOf(name)} bash -eu -o pipefail`
    ]
    const [program = "", ...args] = isOnline ? enter : this.network.commandAt(name, enter)
    const { error, output, status } = spawnSync(program, args, {
      input: `cd /root\n${script}`,
      encoding: "utf8",
      timeout: 180_000,
      maxBuffer: 1 << 26,
      env: {
        PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        HOME: "/root",
        LANG: "C.UTF-8",
        DEBIAN_FRONTEND: "noninteractive"
      }
    })
    if (status !== 0 || error !== undefined)
      throw new Error(
        `${name}: ${error?.message ?? `exit ${status}`}\n${script}\n${output.join("").slice(-4_000)}`
      )
    return output.join("")
  }

  /** Copies a file or folder of the test's machine. */
  copy(from: string, name: string, to: string): void {
    const target = join(this.#rootOf(name), to)
    mkdirSync(dirname(target), { recursive: true })
    cpSync(from, target, { recursive: true, verbatimSymlinks: true })
  }

  /** Copies a file of one machine to another. */
  copyBetween(from: string, to: string, path: string): void {
    this.copy(join(this.#rootOf(from), path), to, path)
  }

  /** As a power failure: all programs end at once. The disk stays. */
  turnOff(name: string): void {
    this.network.kill(name)
  }

  close(): void {
    this.network.close()
    for (const name of this.#names)
      for (const part of ["dev", "proc", ""]) spawnSync("umount", ["-l", join(this.#rootOf(name), part)])
    spawnSync("umount", ["-l", this.#folder])
    rmSync(this.#folder, { recursive: true, force: true })
  }

  get #base(): string {
    return join(this.#folder, "base")
  }

  #rootOf(name: string): string {
    return join(this.#folder, name, "root")
  }

  #add(name: string): void {
    const root = this.#rootOf(name)
    const [upper, work] = [join(this.#folder, name, "upper"), join(this.#folder, name, "work")]
    for (const folder of [root, upper, work]) mkdirSync(folder, { recursive: true })
    run(
      "mount",
      "-t",
      "overlay",
      "overlay",
      "-o",
      `lowerdir=${this.#base},upperdir=${upper},workdir=${work}`,
      root
    )
    run("mount", "-t", "proc", "proc", join(root, "proc"))
    run("mount", "--rbind", "/dev", join(root, "dev"))
    copyFileSync("/etc/resolv.conf", join(root, "etc/resolv.conf"))
  }
}
