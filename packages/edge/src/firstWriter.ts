/**
 * Writer thread of the store that this process opens. The main program imports this module first: the thread starts while the rest of the
 * program loads.
 */
import { startWriterThread } from "./store/WriterThread.ts"

export const firstWriter = startWriterThread()
