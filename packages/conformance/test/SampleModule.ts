/** The sample as a module, for threads. */
export { sampleAdapter as default } from "./SampleAdapter.ts"
