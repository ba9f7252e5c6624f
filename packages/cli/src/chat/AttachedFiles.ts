/** Files of the message that a user writes in a chat. Plain and synchronous. */
import { userHome } from "@corral/service/UserHome"
import { MAX_ATTACHMENTS } from "@corral/domain/session/AttachmentRules"
import { join } from "node:path"
import { type LocalFile, fileNames } from "../attachment/LocalFile.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

/** Path that a user typed, or that a terminal pasted: in quotes, with `\ ` for a space, or in the home `~`. */
export const typedPath = (text: string): string => {
  const quote = text.charAt(0)
  const isQuoted = (quote === '"' || quote === "'") && text.length > 1 && text.endsWith(quote)
  const path = isQuoted ? text.slice(1, -1) : text.replaceAll("\\ ", " ")
  return path.startsWith("~/") ? join(userHome(), path.slice(2)) : path
}

export class AttachedFiles {
  private current: ReadonlyArray<LocalFile> = []

  get files(): ReadonlyArray<LocalFile> {
    return this.current
  }

  /** Adds a file. Returns why it is not added. */
  add(file: LocalFile): string | undefined {
    if (this.current.length === MAX_ATTACHMENTS) return `A message takes up to ${MAX_ATTACHMENTS} files.`
    this.current = [...this.current, file]
    return undefined
  }

  /** Removes the files with this name, or all of them. Returns what it did. */
  remove(name: string): string {
    const removed = this.current.filter((file) => name === "" || file.name === name)
    this.current = this.current.filter((file) => !removed.includes(file))
    if (removed.length > 0) return `Removed: ${fileNames(removed)}`
    return name === "" ? "The message has no files." : `The message has no file ${escapeLine(name)}.`
  }

  /** The files, for a message that is sent. */
  take(): ReadonlyArray<LocalFile> {
    const files = this.current
    this.current = []
    return files
  }
}
