/**
 * Machines of a test with a Debian of their own, on which nothing is installed: a folder as root, a name, and an address in a network that they share.
 *
 * Owns the folders, the network and all programs in it; `close` removes them. Needs root, `mmdebstrap` and a mirror of Debian. There is no systemd: `systemctl` is
 * a stand-in that starts the program of a unit.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { canMakeNetworks, NodeNetwork } from "./NodeNetwork.ts"

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
