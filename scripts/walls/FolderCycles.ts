/** Folders that import each other, directly or through others. Type imports count. */
import { dirname } from "node:path"
import type { SourceModule } from "./Modules.ts"

/** A module that is directly in `src` stands for itself: it may compose every folder. */
const roomOf = (path: string): string => {
  const folder = dirname(path)
  return folder.endsWith("/src") ? path : folder
}

export interface FolderCycle {
  /** Sorted. Each reaches each other one. */
  readonly rooms: ReadonlyArray<string>
  /** `importer > imported`, one for each pair of rooms. */
  readonly imports: ReadonlyArray<string>
}

/** Groups of rooms of which each reaches each other one (Tarjan). */
const components = (graph: ReadonlyMap<string, ReadonlySet<string>>): Array<ReadonlyArray<string>> => {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const stack: Array<string> = []
  const found: Array<ReadonlyArray<string>> = []
  const visit = (room: string): number => {
    const index = order.size
    order.set(room, index)
    stack.push(room)
    let low = index
    for (const next of graph.get(room) ?? []) {
      const seen = order.get(next)
      if (seen === undefined) low = Math.min(low, visit(next))
      else if (stack.includes(next)) low = Math.min(low, seen)
    }
    lowest.set(room, low)
    if (low === index) found.push(stack.splice(stack.indexOf(room)))
    return low
  }
  for (const room of graph.keys()) if (!order.has(room)) visit(room)
  return found
}

export const folderCycles = (modules: ReadonlyArray<SourceModule>): ReadonlyArray<FolderCycle> => {
  const graph = new Map<string, Set<string>>()
  const examples = new Map<string, string>()
  for (const { imports, path } of modules) {
    const from = roomOf(path)
    const targets = graph.get(from) ?? new Set()
    graph.set(from, targets)
    for (const imported of imports) {
      const to = roomOf(imported)
      if (to === from) continue
      targets.add(to)
      examples.set(`${from} > ${to}`, `${path} > ${imported}`)
    }
  }
  return components(graph)
    .filter((rooms) => rooms.length > 1)
    .map((rooms) => ({
      rooms: rooms.toSorted(),
      imports: [...examples]
        .filter(([pair]) => pair.split(" > ").every((room) => rooms.includes(room)))
        .map(([, example]) => example)
        .toSorted()
    }))
}
