/** Folders of one worktree, in the Edge's home. Pure, except that it reads which objects the worktree borrows. */
import { join } from "node:path"
import { smallFile } from "./SmallFile.ts"

/** The repository of the run that works in the checkout. */
export const runRepositoryOf = (checkout: string): string => `${checkout}.git`

/** The store of the Edge that receives what the run commits. No run sees it. */
export const storeOf = (checkout: string): string => `${checkout}.received`

/** Folder with the objects of the workspace's repository; `undefined` if the folder is not the checkout of a worktree. */
export const borrowedObjectsOf = (checkout: string): string | undefined =>
  smallFile(join(storeOf(checkout), "objects", "info", "alternates"))?.split("\n", 1)[0]
