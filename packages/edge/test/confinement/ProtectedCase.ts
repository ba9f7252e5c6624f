/** A workspace in a folder, and what a watch finds in it. */
import type { ProtectedChange } from "@corral/domain/run/ProtectedChange"
import { mkdirSync, realpathSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { changesBetween } from "../../src/confinement/ProtectedRecord.ts"
import { type ProtectedScan, ProtectedTree, type ScanLimits } from "../../src/confinement/ProtectedTree.ts"
import { openFolder } from "../Folder.ts"

/** Runs all steps of a scan. */
export const scanned = (tree: ProtectedTree): ProtectedScan => {
  const steps = tree.scan()
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

export class ProtectedCase {
  readonly root = realpathSync(openFolder())
  readonly tree: ProtectedTree
  private last: ProtectedScan | undefined

  constructor(files: ReadonlyArray<string> = [], limits?: ScanLimits, now: () => number = Date.now) {
    for (const file of files) this.write(file, "before")
    this.tree = new ProtectedTree(this.root, now, limits)
  }

  path(name: string): string {
    return join(this.root, name)
  }

  write(name: string, content: string): void {
    mkdirSync(dirname(this.path(name)), { recursive: true })
    writeFileSync(this.path(name), content)
  }

  /** Changes since the last call. The first call records the names. */
  changes(): ReadonlyArray<ProtectedChange> {
    const now = scanned(this.tree)
    const found = this.last === undefined ? [] : changesBetween(this.last, now)
    this.last = now
    return found
  }

  /** The same as `path change`, without folders that were made for a file. */
  lines(): ReadonlyArray<string> {
    return this.changes().map(({ change, path }) => `${path} ${change}`)
  }

  get isComplete(): boolean {
    return this.last?.isComplete === true
  }
}
