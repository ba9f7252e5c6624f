/** A Node before 22 on this machine, for tests of what it is refused with; `undefined` without one. */
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"

const majorOf = (node: string): number =>
  Number.parseInt(execFileSync(node, ["-p", "process.versions.node"], { encoding: "utf8" }), 10)

export const oldNode = ["/usr/bin/node", "/usr/local/bin/node"].find(
  (node) => existsSync(node) && majorOf(node) < 22
)
