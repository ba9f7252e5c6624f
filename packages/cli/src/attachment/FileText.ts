/** Text about files of messages. */
import type { Attachment } from "@corral/domain/session/Attachment"
import { escapeLine } from "../terminal/VisibleText.ts"
import { type Row, wrapIndented } from "../terminal/WrapText.ts"

/** A file of a message, also before it is uploaded. */
export type NamedFile = Pick<Attachment, "name" | "bytes">

const fileText = ({ bytes, name }: NamedFile): string =>
  `${escapeLine(name)} (${bytes} ${bytes === 1 ? "byte" : "bytes"})`

/** Names of the files, for one line. */
export const fileNames = (files: ReadonlyArray<NamedFile>): string =>
  files.map(({ name }) => escapeLine(name)).join(", ")

/** A message in one line, with the names of its files. */
export const textWithFiles = (text: string, files: ReadonlyArray<NamedFile>): string =>
  files.length === 0 ? text : `${text} [${fileNames(files)}]`

/** One row for each file. */
export const fileRows = (files: ReadonlyArray<NamedFile>, columns: number): ReadonlyArray<Row> =>
  files.flatMap((file) =>
    wrapIndented(
      [{ text: `file ${fileText(file)}`, style: "dim" }],
      columns,
      [{ text: "  " }],
      [{ text: "    " }],
      "anywhere"
    )
  )
