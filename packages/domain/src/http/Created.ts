/** Responses of endpoints that create a resource. */
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"

/** Response with status 201. */
export const createdResponse = HttpApiSchema.status(201)

/** Response with status 201 and the resource's address in `Location`. */
export const createdWithLocation = <A extends Schema.Top>(resource: A) =>
  HttpApiSchema.WithHeaders(resource.pipe(createdResponse), { location: Schema.String })
