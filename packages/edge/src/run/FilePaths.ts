/**
 * File paths as the log records them: relative to the run's folder, regardless of how the runtime wrote them.
 *
 * Reads the text only and does not resolve links. A path outside the folder begins with `..`.
 */
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterEvent } from "@corral/domain/run/RuntimeAdapter"
import { relative, resolve, sep } from "node:path"

const inFolder = (root: string, path: string): string => {
  const named = relative(root, resolve(root, path))
  return named === "" ? "." : named.split(sep).join("/")
}

/** The event with its paths relative to `root`, a real path. */
export const withPathsIn = (root: string, event: AdapterEvent): AdapterEvent => {
  switch (event.type) {
    case "run.file.read":
      return draft(event.type, { ...event.payload, path: inFolder(root, event.payload.path) })
    case "run.patch.proposed":
      return draft(event.type, { ...event.payload, path: inFolder(root, event.payload.path) })
    case "run.file.changed": {
      const { fromPath, path, ...rest } = event.payload
      const from = fromPath === undefined ? {} : { fromPath: inFolder(root, fromPath) }
      return draft(event.type, { ...rest, path: inFolder(root, path), ...from })
    }
    default:
      return event
  }
}
