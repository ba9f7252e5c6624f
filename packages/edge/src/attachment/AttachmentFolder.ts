/** Folder with the files of one conversation: in the Edge's home, outside every workspace. */
import type { SessionId } from "@corral/domain/identity/Ids"
import { makeFolder } from "@corral/service/MakeFolder"
import { realpathSync } from "node:fs"
import { join } from "node:path"

/** Folder with the folders of all sessions. */
export const attachmentHome = (home: string): string => join(home, "attachments")

/** The ids of sessions are safe as names of folders. */
export const attachmentFolderOf = (home: string, sessionId: SessionId): string =>
  join(attachmentHome(home), sessionId)

/** Creates the folder, and returns its real path. */
export const makeAttachmentFolder = (home: string, sessionId: SessionId): string => {
  const folder = attachmentFolderOf(home, sessionId)
  makeFolder(folder)
  return realpathSync(folder)
}

/** Real path of the folder; `undefined` if the session has no files. */
export const existingAttachmentFolder = (home: string, sessionId: SessionId): string | undefined => {
  try {
    return realpathSync(attachmentFolderOf(home, sessionId))
  } catch {
    return undefined
  }
}
