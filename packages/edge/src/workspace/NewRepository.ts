/**
 * Folders without a repository in which runs work that may make one. Files in the Edge's home, from before the start of the run until its end has
 * been reviewed.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { rmSync, statSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { folderEntries, smallFile } from "./UntrustedFiles.ts"

export interface NewRepository {
  readonly runId: string
  /** Real path of the workspace. */
  readonly root: string
}

const END = ".new-repository"

const fileOf = (home: string, runId: string): string => join(home, "repositories", `${runId}${END}`)

/** Records the folder, before the run's program receives its prompt. */
export const startNewRepository = (home: string, { root, runId }: NewRepository): void => {
  const file = fileOf(home, runId)
  makeFolder(dirname(file))
  writeFileSync(file, root, { mode: 0o600 })
}

export const endNewRepository = (home: string, runId: string): void =>
  rmSync(fileOf(home, runId), { force: true })

export const newRepositories = (home: string): ReadonlyArray<NewRepository> =>
  folderEntries(join(home, "repositories")).flatMap(({ name }) => {
    const root = name.endsWith(END) ? smallFile(join(home, "repositories", name)) : undefined
    return root === undefined ? [] : [{ root, runId: basename(name, END) }]
  })

/** Whether the repository, a `.git`, borrows objects by a list that a run may have made. */
export const mayBorrowForRun = (home: string, repository: string): boolean =>
  newRepositories(home).some(({ root }) => join(root, ".git") === repository) &&
  (statSync(join(repository, "objects/info/alternates"), { throwIfNoEntry: false })?.size ?? 0) > 0
